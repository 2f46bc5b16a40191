import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import type { ServiceManager, ShellStartFile, TrustStore } from "../../core/install/mod.ts";
import type { RunWords } from "./run-words.ts";

/** What the installer finds on a machine. */
export interface Machine {
  readonly platform: string;
  readonly userHome: string;
  /** Of the programs asked about, those on the `PATH`, and what an administrator has. */
  readonly tools: ReadonlySet<string>;
  readonly service: ServiceManager | null;
  readonly trustStores: readonly TrustStore[];
  readonly startFiles: readonly ShellStartFile[];
  readonly sessionFolder: string | null;
}

/** How the machine is looked at; the process's own where left out. */
export interface MachineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly run: RunWords;
  readonly platform?: string;
  readonly uid?: number | null;
  /** Folders of the administrator's programs; the system's usual ones where left out. */
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

/** Where the administrator's programs are, which are not on the `PATH` of everybody on Debian. */
const ADMINISTRATOR_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** Where Debian's program looks for certificates of the administrator's. Source: update-ca-certificates(8). */
export const ANCHOR_FOLDER = "/usr/local/share/ca-certificates";

/** Finds a program on the `PATH`; null where there is none. */
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
  // It may be installed and not be what runs this machine, as in containers.
  const { code } = await run(["systemctl", "--user", "show-environment"], { timeoutMs: 5_000 });
  const folder = env.XDG_CONFIG_HOME ?? join(userHome, ".config");
  return code === 0 ? { kind: "systemd", unitFolder: join(folder, "systemd", "user") } : null;
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
        : // Debian has p11-kit's program as well, without a place that it could write to.
          tools.has("trust") && !isDebian
          ? [{ kind: "p11_kit" }]
          : [];
  // NSS's program of that name is another than Windows'.
  const nss = tools.has("certutil") ? findNssFolders(userHome) : [];
  return [...system, ...nss.map((folder) => ({ kind: "nss", folder }) as const)];
}

/** The start files of the shells that are used here: those that are there, and those of the user's own shell. */
export function findStartFiles(
  userHome: string,
  env: Readonly<Record<string, string | undefined>>,
): ShellStartFile[] {
  const own = (env.SHELL ?? "").split("/").pop() ?? "";
  const found: ShellStartFile[] = [];
  const add = (path: string, shell: ShellStartFile["shell"], wanted: boolean) => {
    if (wanted || existsSync(path)) found.push({ path, shell });
  };
  add(join(userHome, ".bashrc"), "posix", own === "bash");
  // A login shell reads the first of these alone (bash(1), "INVOCATION").
  const login = [".bash_profile", ".bash_login", ".profile"].map((name) => join(userHome, name));
  const first = login.find((path) => existsSync(path)) ?? (own === "bash" ? login[2] : undefined);
  if (first !== undefined) found.push({ path: first, shell: "posix" });
  add(join(env.ZDOTDIR ?? userHome, ".zshrc"), "posix", own === "zsh");
  const config = env.XDG_CONFIG_HOME ?? join(userHome, ".config");
  add(join(config, "fish", "config.fish"), "fish", own === "fish" || existsSync(join(config, "fish")));
  return found;
}

/** Looks at the machine: nothing is changed. */
export async function findMachine(options: MachineOptions): Promise<Machine> {
  const { env } = options;
  const platform = options.platform ?? process.platform;
  const uid = options.uid ?? process.getuid?.() ?? null;
  const userHome = env.HOME || env.USERPROFILE || homedir();
  const tools = new Set(TOOLS.filter((name) => findProgram(name, env, platform) !== null));
  const isDebian = (options.administratorFolders ?? ADMINISTRATOR_FOLDERS).some((folder) =>
    existsSync(join(folder, "update-ca-certificates")),
  );
  // Not to be run as this user, but to be named to them.
  if (platform === "linux" && uid !== 0 && isDebian) tools.add("update-ca-certificates");
  const config = env.XDG_CONFIG_HOME ?? join(userHome, ".config");
  return {
    platform,
    userHome,
    tools,
    service: await findService(platform, tools, userHome, options),
    trustStores: findTrustStores(platform, tools, userHome, uid, isDebian),
    startFiles: platform === "win32" ? [] : findStartFiles(userHome, env),
    sessionFolder: platform === "linux" && tools.has("systemctl") ? join(config, "environment.d") : null,
  };
}
