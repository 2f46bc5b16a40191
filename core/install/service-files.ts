/** What a service manager has to know to keep the daemon running. */
export interface ServiceProgram {
  /** The runtime's own path, not a link that an upgrade moves away. */
  readonly nodePath: string;
  readonly programPath: string;
  readonly meterHome: string;
  /** Variables that the daemon needs besides `METER_HOME`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How long the daemon may take to end, in seconds: it lets calls in flight finish for 10. */
const STOP_SECONDS = 20;
/** Wait before a failed daemon is started again, in seconds. */
const RESTART_SECONDS = 1;

/** A quoted word for a systemd unit (systemd.syntax(7), systemd.service(5)): `%` is a specifier. */
const unitWord = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;

/** The same in a command line, where a dollar sign begins a variable, too. */
const commandWord = (text: string): string => unitWord(text).replaceAll("$", "$$$$");

/**
 * The systemd user unit. A daemon that fails is started again; one that was asked to stop is not. Ten failures in a minute
 * end it: then the configuration is at fault, and `meter doctor` says so.
 */
export function systemdService({ nodePath, programPath, meterHome, environment }: ServiceProgram): string {
  const variables = Object.entries({ METER_HOME: meterHome, ...environment });
  return [
    "# Written by `meter init`; `meter uninstall` removes it.",
    "[Unit]",
    "Description=Meters calls to language models",
    "StartLimitIntervalSec=60",
    "StartLimitBurst=10",
    "",
    "[Service]",
    `ExecStart=${[nodePath, programPath, "start", "--foreground"].map(commandWord).join(" ")}`,
    ...variables.map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`),
    "Restart=on-failure",
    `RestartSec=${RESTART_SECONDS}`,
    `TimeoutStopSec=${STOP_SECONDS}`,
    "UMask=0077",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/**
 * The socket beside it: systemd holds the proxy's port, so that while the daemon restarts connections wait and none is
 * refused.
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
 * The launchd agent of macOS: runs from login on and is started again unless it ended by itself with success. The port is
 * the daemon's own here: launchd hands sockets out through `launch_activate_socket` alone, which Node can't call.
 */
export function launchAgent(label: string, program: ServiceProgram): string {
  const variables = Object.entries({ METER_HOME: program.meterHome, ...program.environment });
  const output = escapeXml(`${program.meterHome}/logs/start.log`);
  return plist([
    "  <key>Label</key>",
    `  <string>${escapeXml(label)}</string>`,
    "  <key>ProgramArguments</key>",
    "  <array>",
    ...plistStrings([program.nodePath, program.programPath, "start", "--foreground"], "    "),
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

/** A second agent, which sets the session's variables at each login: `launchctl setenv` lasts until the next restart. */
export function environmentAgent(label: string, variables: Readonly<Record<string, string>>): string {
  // Words of the shell's own, so that no value is read as shell.
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

/** A word of a Windows command line, as `CommandLineToArgvW` reads it. */
function windowsWord(text: string): string {
  if (text !== "" && !/[\s"]/.test(text)) return text;
  const escaped = text.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, "$&$&");
  return `"${escaped}"`;
}

/**
 * The task of Windows' Task Scheduler: begins at the user's logon, has no time limit, and is started again a minute after
 * it failed. `conhost --headless` keeps the console's window away. Tasks have no environment of their own, so the home is
 * a word of the command.
 */
export function scheduledTask(user: string, program: ServiceProgram): string {
  const words = [program.nodePath, program.programPath, "start", "--foreground", "--home", program.meterHome];
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
