import {
  fishBlock,
  fishFile,
  quoteForShell,
  sessionFile,
  shellBlock,
  shellFile,
} from "./environment-files.ts";
import {
  environmentAgent,
  launchAgent,
  type ServiceProgram,
  scheduledTask,
  systemdService,
  systemdSocket,
} from "./service-files.ts";
import { type InstallCommand, type InstallStep, stepKey } from "./step.ts";

/** The system's way of keeping authorities, as found on the machine. */
export type TrustStore =
  /** Debian and its kin: a folder of certificates and a program that collects them. Root's. */
  | {
      readonly kind: "update_ca_certificates";
      readonly anchorFolder: string;
      readonly words: readonly string[];
    }
  /** Fedora, Arch and their kin: p11-kit's `trust anchor`. Root's. */
  | { readonly kind: "p11_kit" }
  /** A certificate database of Chromium's or Firefox's. */
  | { readonly kind: "nss"; readonly folder: string }
  | { readonly kind: "macos_keychain"; readonly keychain: string }
  | { readonly kind: "windows_user" };

/** What keeps the daemon running. */
export type ServiceManager =
  | { readonly kind: "systemd"; readonly unitFolder: string }
  | { readonly kind: "launchd"; readonly agentFolder: string; readonly uid: number }
  | { readonly kind: "task_scheduler"; readonly user: string };

/** A start file of a shell that is there, or whose shell is the user's. */
export interface ShellStartFile {
  readonly path: string;
  readonly shell: "posix" | "fish";
}

/** What the plan is made from. */
export interface InstallFacts {
  readonly program: ServiceProgram;
  /** Tells homes of one user apart in service and certificate names: `meter`, or `meter-` and a few letters. */
  readonly name: string;
  /** Where the proxy listens; a socket can be held only for a fixed port. */
  readonly proxy: { readonly host: string; readonly port: number };
  readonly service: ServiceManager | null;
  readonly ca: { readonly path: string; readonly pem: string; readonly sha1: string };
  readonly trustStores: readonly TrustStore[];
  /** Which programs and sessions are set up; null without `--apps`. */
  readonly apps: {
    readonly variables: Readonly<Record<string, string>>;
    readonly startFiles: readonly ShellStartFile[];
    /** The folder of environment.d(5), where sessions are systemd's. */
    readonly sessionFolder: string | null;
  } | null;
}

const command = (...words: string[]): InstallCommand => ({ words });
const mayFail = (...words: string[]): InstallCommand => ({ words, mayFail: true });

/** A path below a folder, with the folder's own kind of slash. */
const below = (folder: string, ...names: string[]): string =>
  [folder, ...names].join(folder.includes("\\") ? "\\" : "/");

function trustSteps(facts: InstallFacts, store: TrustStore): InstallStep[] {
  const { ca, name, program } = facts;
  // A copy under its own name: the authority may be issued anew, and the way back needs the one that was trusted.
  const path = below(program.meterHome, `trusted-${ca.sha1.slice(0, 8).toLowerCase()}.pem`);
  const copy: InstallStep = { kind: "file", path, text: ca.pem, mode: 0o644 };
  const commands = (
    id: string,
    purpose: string,
    go: InstallCommand[],
    back: InstallCommand[],
  ): InstallStep => ({
    kind: "commands",
    id,
    purpose,
    do: go,
    undo: back,
  });
  switch (store.kind) {
    case "update_ca_certificates": {
      const collect = command(...store.words);
      return [
        // On the way back the steps run in reverse: first the file goes, then this collects what is left. Without `--fresh`
        // the links to a file that is gone would stay in the system's folder.
        {
          kind: "commands",
          id: "ca-collect-after",
          purpose: "",
          do: [],
          undo: [command(...store.words, "--fresh")],
        },
        { kind: "file", path: below(store.anchorFolder, `${name}-local-ca.crt`), text: ca.pem, mode: 0o644 },
        {
          kind: "commands",
          id: "ca-collect",
          purpose: "trust the meter's authority system-wide",
          do: [collect],
          undo: [],
        },
      ];
    }
    case "p11_kit":
      return [
        copy,
        commands(
          "ca-p11-kit",
          "trust the meter's authority system-wide",
          [command("trust", "anchor", "--store", path)],
          [command("trust", "anchor", "--remove", path)],
        ),
      ];
    case "nss": {
      const database = `sql:${store.folder}`;
      const nickname = `${name} local CA`;
      return [
        copy,
        commands(
          `ca-nss:${store.folder}`,
          `trust the meter's authority in ${store.folder}`,
          [command("certutil", "-d", database, "-A", "-t", "C,,", "-n", nickname, "-i", path)],
          [command("certutil", "-d", database, "-D", "-n", nickname)],
        ),
      ];
    }
    case "macos_keychain":
      return [
        copy,
        commands(
          "ca-keychain",
          "trust the meter's authority for this user (macOS asks for the password)",
          [
            command(
              "security",
              "add-trusted-cert",
              "-r",
              "trustRoot",
              "-p",
              "ssl",
              "-k",
              store.keychain,
              path,
            ),
          ],
          [
            mayFail("security", "remove-trusted-cert", path),
            command("security", "delete-certificate", "-Z", ca.sha1, store.keychain),
          ],
        ),
      ];
    case "windows_user":
      return [
        copy,
        commands(
          "ca-windows",
          "trust the meter's authority for this user (Windows asks)",
          [command("certutil", "-user", "-addstore", "Root", path)],
          [command("certutil", "-user", "-delstore", "Root", ca.sha1)],
        ),
      ];
  }
}

function serviceSteps({ program, name, proxy, service }: InstallFacts): InstallStep[] {
  switch (service?.kind) {
    case undefined:
      return [];
    case "systemd": {
      const folder = service.unitFolder;
      const systemctl = (...words: string[]) => command("systemctl", "--user", ...words);
      const socket = `${name}.socket`;
      const unit = `${name}.service`;
      const holdsPort = proxy.port !== 0;
      const units = holdsPort ? [socket, unit] : [unit];
      const reload = systemctl("daemon-reload");
      return [
        { kind: "commands", id: "systemd-forget", purpose: "", do: [], undo: [reload] },
        // A proxy address in it may hold a password.
        { kind: "file", path: below(folder, unit), text: systemdService(program), mode: 0o600 },
        ...(holdsPort
          ? [{ kind: "file", path: below(folder, socket), text: systemdSocket(proxy), mode: 0o600 } as const]
          : []),
        {
          kind: "commands",
          id: "systemd-enable",
          purpose: "keep the daemon running, now and from each login on",
          do: [reload, systemctl("enable", ...units), ...units.map((each) => systemctl("start", each))],
          undo: [systemctl("disable", "--now", ...units)],
        },
      ];
    }
    case "launchd": {
      const label = `dev.llm-meter.${name}`;
      const path = below(service.agentFolder, `${label}.plist`);
      const load = command("launchctl", "bootstrap", `gui/${service.uid}`, path);
      const unload = ["launchctl", "bootout", `gui/${service.uid}/${label}`];
      return [
        { kind: "file", path, text: launchAgent(label, program), mode: 0o600 },
        {
          kind: "commands",
          id: "launchd-bootstrap",
          purpose: "keep the daemon running, now and from each login on",
          do: [load],
          undo: [mayFail(...unload)],
        },
      ];
    }
    case "task_scheduler": {
      const path = below(program.meterHome, "service.xml");
      const create = command("schtasks", "/Create", "/TN", name, "/XML", path, "/F");
      const run = command("schtasks", "/Run", "/TN", name);
      const end = mayFail("schtasks", "/End", "/TN", name);
      return [
        { kind: "file", path, text: scheduledTask(service.user, program), mode: 0o600 },
        {
          kind: "commands",
          id: "task-create",
          purpose: "keep the daemon running, now and from each logon on",
          do: [create, run],
          undo: [end, command("schtasks", "/Delete", "/TN", name, "/F")],
        },
      ];
    }
  }
}

function appSteps({ program, name, service, apps }: InstallFacts): InstallStep[] {
  if (apps === null) return [];
  const { variables, startFiles, sessionFolder } = apps;
  const files = {
    posix: below(program.meterHome, "env.sh"),
    fish: below(program.meterHome, "env.fish"),
  };
  const shells = new Set(startFiles.map(({ shell }) => shell));
  const steps: InstallStep[] = [];
  if (shells.has("posix"))
    steps.push({ kind: "file", path: files.posix, text: shellFile(variables), mode: 0o644 });
  if (shells.has("fish"))
    steps.push({ kind: "file", path: files.fish, text: fishFile(variables), mode: 0o644 });
  for (const { path, shell } of startFiles) {
    const lines = shell === "fish" ? fishBlock(files.fish) : shellBlock(files.posix);
    steps.push({ kind: "block", path, lines });
  }
  if (sessionFolder !== null)
    steps.push({
      kind: "file",
      path: below(sessionFolder, `60-${name}.conf`),
      text: sessionFile(variables),
      mode: 0o644,
    });
  const scope =
    service?.kind === "launchd" ? "launchd" : service?.kind === "task_scheduler" ? "registry" : null;
  if (scope !== null) {
    for (const [variable, value] of Object.entries(variables))
      steps.push({ kind: "variable", name: variable, value, scope });
  }
  if (service?.kind === "launchd") {
    const label = `dev.llm-meter.${name}.environment`;
    steps.push({
      kind: "file",
      path: below(service.agentFolder, `${label}.plist`),
      text: environmentAgent(label, variables),
      mode: 0o600,
    });
  }
  return steps;
}

/**
 * All that `init` does to the machine beyond the meter's own home, in order: first the daemon runs, then its authority is
 * trusted, and only then are programs led to it, so that whatever fails on the way has cut nobody off.
 */
export function planInstall(facts: InstallFacts): InstallStep[] {
  const steps = [
    ...serviceSteps(facts),
    ...facts.trustStores.flatMap((store) => trustSteps(facts, store)),
    ...appSteps(facts),
  ];
  // Several stores share one copy of the certificate.
  return [...new Map(steps.map((step) => [stepKey(step), step])).values()];
}

/** What a person may run to trust the authority where this user may not, as a line to paste; null where nothing is known. */
export function trustAdvice(
  facts: Pick<InstallFacts, "ca" | "name">,
  tools: ReadonlySet<string>,
): string | null {
  const path = quoteForShell(facts.ca.path);
  if (tools.has("update-ca-certificates"))
    return `sudo install -m 644 ${path} /usr/local/share/ca-certificates/${facts.name}-local-ca.crt && sudo update-ca-certificates`;
  return tools.has("trust") ? `sudo trust anchor --store ${path}` : null;
}
