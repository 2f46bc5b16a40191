import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CallOutcome } from "../../examples/demo/call-log.ts";

/** The client programs in `examples/demo`. */
export type SdkClient = "anthropic" | "openai" | "google" | "compatible" | "ollama";

/** The base URL of each provider in gateway mode. */
export interface BaseUrls {
  anthropic: string;
  /** With the version, as OpenAI's SDK wants it: `…/openai/v1`. */
  openai: string;
  gemini: string;
  xai: string;
  openrouter: string;
}

/** Returns the base URLs of the providers behind a gateway of the meter. */
export function gatewayBaseUrls(gatewayUrl: string): BaseUrls {
  return {
    anthropic: `${gatewayUrl}/anthropic`,
    openai: `${gatewayUrl}/openai/v1`,
    gemini: `${gatewayUrl}/gemini`,
    xai: `${gatewayUrl}/xai/v1`,
    openrouter: `${gatewayUrl}/openrouter/api/v1`,
  };
}

export interface DriveOptions {
  clients: readonly SdkClient[];
  /** The working directory of the clients, which determines their project unless something else states it. */
  cwd: string;
  /** Proxy mode: what `meter run` sets. */
  proxyUrl?: string;
  /** Trusted besides the system's roots. */
  caFile?: string;
  /** Gateway mode. */
  baseUrls?: BaseUrls;
  ollamaUrl?: string;
  /** More variables, such as `METER_PROJECT`. */
  env?: Readonly<Record<string, string>>;
  /** Words before the program and its arguments, such as `meter run --`. */
  prefix?: readonly string[];
}

export interface DrivenClient {
  client: SdkClient;
  calls: CallOutcome[];
}

/** The file of a client program. */
export function clientScript(client: SdkClient): string {
  return fileURLToPath(new URL(`../../examples/demo/client-${client}.ts`, import.meta.url));
}

/**
 * Runs client programs in turn, each in its own process, with the providers' real SDKs. Rejects
 * if a program fails as a whole; failed calls are results.
 */
export async function driveSdks(options: DriveOptions): Promise<DrivenClient[]> {
  const driven: DrivenClient[] = [];
  for (const client of options.clients) driven.push(await driveSdk(client, options));
  return driven;
}

function driveSdk(client: SdkClient, options: DriveOptions): Promise<DrivenClient> {
  const [command = "", ...args] = [...(options.prefix ?? []), process.execPath, clientScript(client)];
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: clientEnvironment(options),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let complaints = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const summary = output.trim().split("\n").at(-1) ?? "";
      if (code === 0 && summary.startsWith("[")) resolve({ client, calls: JSON.parse(summary) });
      else reject(new Error(`the ${client} client ended with ${code}: ${complaints.slice(-2_000)}`));
    });
  });
}

/**
 * This process's variables without any that would change the client's route, and those of the options. Compiled code may be
 * shared, because compiling an SDK takes longer than the calls.
 */
function clientEnvironment(options: DriveOptions): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        name === "NODE_COMPILE_CACHE" || !/proxy|_BASE_URL$|^NODE_|^METER_|^OLLAMA_|_API_KEY$/i.test(name),
    ),
  );
  const { proxyUrl, caFile, baseUrls, ollamaUrl } = options;
  return {
    ...inherited,
    ...(proxyUrl === undefined
      ? {}
      : { HTTPS_PROXY: proxyUrl, HTTP_PROXY: proxyUrl, NO_PROXY: "", NODE_USE_ENV_PROXY: "1" }),
    ...(caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile }),
    ...(baseUrls === undefined
      ? {}
      : {
          ANTHROPIC_BASE_URL: baseUrls.anthropic,
          OPENAI_BASE_URL: baseUrls.openai,
          GOOGLE_GEMINI_BASE_URL: baseUrls.gemini,
          XAI_BASE_URL: baseUrls.xai,
          OPENROUTER_BASE_URL: baseUrls.openrouter,
        }),
    ...(ollamaUrl === undefined ? {} : { OLLAMA_HOST: ollamaUrl }),
    ...options.env,
  };
}

/** Creates an empty git repository of this name with just enough files for its root to be recognised. */
export function createProjectFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(join(folder, ".git"), { recursive: true });
  writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  return folder;
}
