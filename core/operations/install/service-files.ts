import { memoryLimits } from "./memory-limits.ts";
/** What a service manager needs to run the daemon. */
export interface ServiceProgram {
  /** The runtime's real path, because an upgrade may change a link. */
  readonly nodePath: string;
  readonly programPath: string;
  /** The script that starts the daemon again after a crash, for a POSIX shell. */
  readonly supervisorPath: string;
  readonly meterHome: string;
  /** Variables that the daemon needs in addition to `METER_HOME`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How long the daemon may take to stop, in seconds. It waits up to 10 seconds for calls in flight. */
const STOP_SECONDS = 20;
/** Delay before a failed daemon is restarted, in seconds. */
const RESTART_SECONDS = 1;

/** The shell that runs the script. */
const SHELL = "/bin/sh";

/** Quotes a word for a systemd unit (systemd.syntax(7), systemd.service(5)), where `%` starts a specifier. */
const unitWord = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;

/** Quotes a word for a command line in a unit, where a dollar sign also starts a variable. */
const commandWord = (text: string): string => unitWord(text).replaceAll("$", "$$$$");

/**
 * Returns the systemd user unit. `supervise.sh` restarts a daemon that crashed, and systemd the script if it fails, but not
 * after a requested stop. After ten failures in a minute, systemd gives up; the configuration is then at fault, and
 * `meter doctor` reports it.
 */
export function systemdService(program: ServiceProgram): string {
  const { nodePath, programPath, supervisorPath, meterHome, environment } = program;
  const variables = Object.entries({ METER_HOME: meterHome, ...memoryLimits, ...environment });
  return [
    "# Written by `meter init`; `meter uninstall` removes it.",
    "[Unit]",
    "Description=Meters calls to language models",
    "StartLimitIntervalSec=60",
    "StartLimitBurst=10",
    "",
    "[Service]",
    `ExecStart=${[SHELL, supervisorPath, nodePath, programPath].map(commandWord).join(" ")}`,
    ...variables.map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`),
    "Restart=on-failure",
    `RestartSec=${RESTART_SECONDS}`,
    "# The script passes the signal on.",
    "KillMode=mixed",
    `TimeoutStopSec=${STOP_SECONDS}`,
    "UMask=0077",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/**
 * Returns the socket unit. systemd holds the proxy's port, so that connections wait during a restart of the daemon instead
 * of being refused.
 */
export const systemdSocket = (address: { readonly host: string; readonly port: number }): string =>
  [
    "# Written by `meter init`; `meter uninstall` removes it.",
    "[Unit]",
    "Description=The meter's proxy port",
    "",
    "[Socket]",
    `ListenStream=${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`,
    "Backlog=511",
    "",
    "[Install]",
    "WantedBy=sockets.target",
    "",
  ].join("\n");

const escapeXml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const plistStrings = (words: readonly string[], indent: string): string[] =>
  words.map((word) => `${indent}<string>${escapeXml(word)}</string>`);

const plist = (lines: readonly string[]): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<!-- Written by `meter init`; `meter uninstall` removes it. -->",
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    "<dict>",
    ...lines,
    "</dict>",
    "</plist>",
    "",
  ].join("\n");

/**
 * Returns the launchd agent for macOS. It starts at login, and launchd restarts it unless it exits successfully. The daemon
 * opens its own port, because Node cannot call `launch_activate_socket`, the only way to receive a socket from launchd.
 */
export function launchAgent(label: string, program: ServiceProgram): string {
  const variables = Object.entries({
    METER_HOME: program.meterHome,
    ...memoryLimits,
    ...program.environment,
  });
  const output = escapeXml(`${program.meterHome}/logs/start.log`);
  return plist([
    "  <key>Label</key>",
    `  <string>${escapeXml(label)}</string>`,
    "  <key>ProgramArguments</key>",
    "  <array>",
    ...plistStrings([SHELL, program.supervisorPath, program.nodePath, program.programPath], "    "),
    "  </array>",
    "  <key>EnvironmentVariables</key>",
    "  <dict>",
    ...variables.flatMap(([name, value]) => [
      `    <key>${escapeXml(name)}</key>`,
      `    <string>${escapeXml(value)}</string>`,
    ]),
    "  </dict>",
    "  <key>RunAtLoad</key>",
    "  <true/>",
    "  <key>KeepAlive</key>",
    "  <dict>",
    "    <key>SuccessfulExit</key>",
    "    <false/>",
    "  </dict>",
    "  <key>ThrottleInterval</key>",
    `  <integer>${RESTART_SECONDS}</integer>`,
    "  <key>ExitTimeOut</key>",
    `  <integer>${STOP_SECONDS}</integer>`,
    "  <key>Umask</key>",
    `  <integer>${0o077}</integer>`,
    "  <key>StandardOutPath</key>",
    `  <string>${output}</string>`,
    "  <key>StandardErrorPath</key>",
    `  <string>${output}</string>`,
  ]);
}

/**
 * Returns a second agent that sets the session's variables at each login, because `launchctl setenv` lasts only until the
 * next restart.
 */
export function environmentAgent(label: string, variables: Readonly<Record<string, string>>): string {
  // The values are passed as arguments, so that the shell does not interpret them.
  const script = 'while [ $# -gt 1 ]; do launchctl setenv "$1" "$2"; shift 2; done';
  return plist([
    "  <key>Label</key>",
    `  <string>${escapeXml(label)}</string>`,
    "  <key>ProgramArguments</key>",
    "  <array>",
    ...plistStrings(["/bin/sh", "-c", script, "sh", ...Object.entries(variables).flat()], "    "),
    "  </array>",
    "  <key>RunAtLoad</key>",
    "  <true/>",
  ]);
}

/** Quotes a word for a Windows command line, as `CommandLineToArgvW` parses it. */
function windowsWord(text: string): string {
  if (text !== "" && !/[\s"]/.test(text)) return text;
  const escaped = text.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, "$&$&");
  return `"${escaped}"`;
}

/** The option of a service that has no script: while the daemon can't start, its process relays without metering. */
export const OR_RELAY = "--or-relay";

/**
 * Returns the task for Windows Task Scheduler. It starts at logon, has no time limit, and restarts a minute after a
 * failure. `conhost --headless` hides the console window. Tasks cannot set environment variables, so the home is an
 * argument.
 */
export function scheduledTask(user: string, program: ServiceProgram): string {
  const { nodePath, programPath, meterHome } = program;
  const words = [nodePath, programPath, "start", "--foreground", OR_RELAY, "--home", meterHome];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<!-- Written by `meter init`; `meter uninstall` removes it. -->",
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    "  <RegistrationInfo>",
    "    <Description>Meters calls to language models</Description>",
    "  </RegistrationInfo>",
    "  <Triggers>",
    "    <LogonTrigger>",
    "      <Enabled>true</Enabled>",
    `      <UserId>${escapeXml(user)}</UserId>`,
    "    </LogonTrigger>",
    "  </Triggers>",
    "  <Principals>",
    '    <Principal id="Author">',
    `      <UserId>${escapeXml(user)}</UserId>`,
    "      <LogonType>InteractiveToken</LogonType>",
    "      <RunLevel>LeastPrivilege</RunLevel>",
    "    </Principal>",
    "  </Principals>",
    "  <Settings>",
    "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>",
    "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>",
    "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>",
    "    <StartWhenAvailable>true</StartWhenAvailable>",
    "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
    "    <Hidden>true</Hidden>",
    "    <RestartOnFailure>",
    "      <Interval>PT1M</Interval>",
    "      <Count>255</Count>",
    "    </RestartOnFailure>",
    "  </Settings>",
    '  <Actions Context="Author">',
    "    <Exec>",
    "      <Command>conhost.exe</Command>",
    `      <Arguments>${escapeXml(["--headless", ...words].map(windowsWord).join(" "))}</Arguments>`,
    "    </Exec>",
    "  </Actions>",
    "</Task>",
    "",
  ].join("\r\n");
}
