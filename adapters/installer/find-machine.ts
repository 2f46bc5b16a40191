import { existsSync, readdirSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import process from "node:process";
import type {
  ServiceManager,
  ShellStartFile,
  TrustStore,
} from "../../core/operations/install/plan-install.ts";
import { userHome } from "../files/meter-home.ts";
import type { RunProgram } from "./run-program.ts";

/** What the installer finds on a machine. */
export interface Machine {
  readonly platform: string;
  readonly userHome: string;
  /** The installer's tools that were found on the `PATH` or among the administrator's programs. */
  readonly tools: ReadonlySet<string>;
  readonly service: ServiceManager | null;
  readonly trustStores: readonly TrustStore[];
  readonly startFiles: readonly ShellStartFile[];
  readonly sessionFolder: string | null;
}

/** How to inspect the machine. Left out: the values of this process. */
interface MachineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly run: RunProgram;
  readonly platform?: string;
  readonly uid?: number | null;
  /** Folders of the administrator's programs. Default: the system's usual ones. */
  readonly administratorFolders?: readonly string[];
}

const TOOLS = [
  "systemctl",
  "update-ca-certificates",
  "trust",
  "certutil",
  "launchctl",
  "security",
  "schtasks",
];

/** Folders of the administrator's programs, which are not on every user's `PATH` on Debian. */
const ADMINISTRATOR_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The folder for the administrator's own certificates on Debian. Source: update-ca-certificates(8). */
export const ANCHOR_FOLDER = "/usr/local/share/ca-certificates";

/** Returns the path of a program on the `PATH`, or null. */
export function findProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): string | null {
  const endings = platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  for (const folder of (env.PATH ?? env.Path ?? "").split(delimiter)) {
    for (const ending of endings) {
      const path = join(folder, name + ending);
      try {
        const stat = statSync(path);
        if (folder !== "" && stat.isFile() && (platform === "win32" || (stat.mode & 0o111) !== 0))
          return path;
      } catch {
        // Not here.
      }
    }
  }
  return null;
}

async function findService(
  platform: string,
  tools: ReadonlySet<string>,
  userHome: string,
  { env, run, uid }: MachineOptions,
): Promise<ServiceManager | null> {
  if (platform === "darwin" && tools.has("launchctl"))
    return {
      kind: "launchd",
      agentFolder: join(userHome, "Library", "LaunchAgents"),
      uid: uid ?? process.getuid?.() ?? 0,
    };
  if (platform === "win32" && tools.has("schtasks")) {
    const name = env.USERNAME ?? userInfo().username;
    return { kind: "task_scheduler", user: env.USERDOMAIN ? `${env.USERDOMAIN}\\${name}` : name };
  }
  if (platform !== "linux" || !tools.has("systemctl")) return null;
  // systemd may be installed without running, as in containers.
  const { code } = await run(["systemctl", "--user", "show-environment"], { timeoutMs: 5_000 });
  return code === 0
    ? { kind: "systemd", unitFolder: join(configFolder(userHome, env), "systemd", "user") }
    : null;
}

function findNssFolders(userHome: string): string[] {
  const firefox = join(userHome, ".mozilla", "firefox");
  const profiles = existsSync(firefox) ? readdirSync(firefox).map((name) => join(firefox, name)) : [];
  return [join(userHome, ".pki", "nssdb"), ...profiles].filter((folder) =>
    existsSync(join(folder, "cert9.db")),
  );
}

function findTrustStores(
  platform: string,
  tools: ReadonlySet<string>,
  userHome: string,
  uid: number | null,
  isDebian: boolean,
): TrustStore[] {
  if (platform === "darwin" && tools.has("security"))
    return [
      { kind: "macos_keychain", keychain: join(userHome, "Library", "Keychains", "login.keychain-db") },
    ];
  if (platform === "win32" && tools.has("certutil")) return [{ kind: "windows_user" }];
  if (platform !== "linux") return [];
  const system: TrustStore[] =
    uid !== 0
      ? []
      : tools.has("update-ca-certificates")
        ? [
            {
              kind: "update_ca_certificates",
              anchorFolder: ANCHOR_FOLDER,
              words: ["update-ca-certificates"],
            },
          ]
        : // Debian also ships p11-kit's `trust`, but without a writable store.
          tools.has("trust") && !isDebian
          ? [{ kind: "p11_kit" }]
          : [];
  // NSS's `certutil` and Windows' `certutil` are different programs.
  const nss = tools.has("certutil") ? findNssFolders(userHome) : [];
  return [...system, ...nss.map((folder) => ({ kind: "nss", folder }) as const)];
}

/**
 * Returns the folder of a user's configuration. A variable that is empty or relative counts as not set. Source: XDG Base Directory
 * Specification 0.8.
 */
function configFolder(userHome: string, { XDG_CONFIG_HOME = "" }: MachineOptions["env"]): string {
  return isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(userHome, ".config");
}

/** Finds the shells' start files: those that exist, and those of the user's own shell. */
function findStartFiles(
  userHome: string,
  env: Readonly<Record<string, string | undefined>>,
): ShellStartFile[] {
  const own = (env.SHELL || findLoginShell()).split("/").pop() ?? "";
  const found: ShellStartFile[] = [];
  const add = (path: string, shell: ShellStartFile["shell"], wanted: boolean) => {
    if (wanted || existsSync(path)) found.push({ path, shell });
  };
  add(join(userHome, ".bashrc"), "posix", own === "bash");
  // A login shell reads only the first of these (bash(1), "INVOCATION").
  const login = [".bash_profile", ".bash_login", ".profile"].map((name) => join(userHome, name));
  const first = login.find((path) => existsSync(path)) ?? (own === "bash" ? login[2] : undefined);
  if (first !== undefined) found.push({ path: first, shell: "posix" });
  add(join(env.ZDOTDIR || userHome, ".zshrc"), "posix", own === "zsh");
  const config = configFolder(userHome, env);
  add(join(config, "fish", "config.fish"), "fish", own === "fish" || existsSync(join(config, "fish")));
  return found;
}

/** Returns the path of this user's login shell, since services and containers often have no `SHELL`; empty if it is not known. */
function findLoginShell(): string {
  try {
    return userInfo().shell ?? "";
  } catch {
    return "";
  }
}

/** Inspects the machine. Changes nothing. */
export async function findMachine(options: MachineOptions): Promise<Machine> {
  const { env } = options;
  const platform = options.platform ?? process.platform;
  const uid = options.uid ?? process.getuid?.() ?? null;
  const home = env.HOME || env.USERPROFILE || userHome();
  const tools = new Set(TOOLS.filter((name) => findProgram(name, env, platform) !== null));
  const isDebian = (options.administratorFolders ?? ADMINISTRATOR_FOLDERS).some((folder) =>
    existsSync(join(folder, "update-ca-certificates")),
  );
  // This user can't run it, but the output names it for an administrator.
  if (platform === "linux" && uid !== 0 && isDebian) tools.add("update-ca-certificates");
  return {
    platform,
    userHome: home,
    tools,
    service: await findService(platform, tools, home, options),
    trustStores: findTrustStores(platform, tools, home, uid, isDebian),
    startFiles: platform === "win32" ? [] : findStartFiles(home, env),
    sessionFolder:
      platform === "linux" && tools.has("systemctl") ? join(configFolder(home, env), "environment.d") : null,
  };
}
