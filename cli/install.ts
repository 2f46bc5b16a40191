import { readFileSync } from "node:fs";
import {
  installRecordFile,
  type RunWords,
  takeSteps,
  undoEntries,
  writeInstallRecord,
} from "../adapters/installer/mod.ts";
import { type InstallRecord, serviceWords, stepKey } from "../core/install/mod.ts";
import { findDaemon } from "./daemon-process.ts";
import { CommandFailure, exitCodes } from "./exit-codes.ts";
import { authorityFiles } from "./home.ts";
import type { InstallPlan } from "./install-plan.ts";
import { checkInterception, selfTest } from "./self-test.ts";
import { endProcess, startDaemonOf, waitForDaemon } from "./start-daemon.ts";

/** The provider that the TLS side is tried with: the first of the list. */
export const TLS_TEST_HOST = "api.anthropic.com";

/** Takes back what this run did: all of a first installation, what was new in a later one. */
async function takeBack(
  home: string,
  record: InstallRecord,
  earlier: InstallRecord | null,
  run: RunWords,
): Promise<string[]> {
  const before = new Set(earlier?.entries.map(({ step }) => stepKey(step)));
  const isNew = ({ step }: InstallRecord["entries"][number]) => !before.has(stepKey(step));
  const undone = await undoEntries(record.entries.filter(isNew), run);
  const stays = undone.filter(({ outcome }) => outcome === "failed").map(({ entry }) => entry);
  const left = record.entries.filter((entry) => !isNew(entry) || stays.includes(entry));
  writeInstallRecord(home, left.length === 0 ? null : { ...record, entries: left });
  return undone.flatMap(({ says }) => says ?? []);
}

/**
 * Takes the steps of the plan, starts the daemon and tests it. What fails is undone, and said. The exit code is that of
 * `meter init`.
 */
export async function install(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  plan: InstallPlan,
  earlier: InstallRecord | null,
  run: RunWords,
  print: (text: string) => void,
): Promise<number> {
  let record = plan.record;
  const save = (next: InstallRecord) => {
    record = next;
    writeInstallRecord(home, next);
  };
  const ranBefore = await findDaemon(home);
  try {
    save(record);
    const service = plan.steps.some(
      ({ step, how }) =>
        how !== "keep" && step.kind === "commands" && /^(systemd|launchd|task)-/.test(step.id),
    );
    // A daemon that was started by hand, or by the older service, makes room for the new one.
    if (service && ranBefore !== null) {
      for (const words of serviceWords(earlier)?.stop ?? []) await run(words);
      await endProcess(ranBefore.pid);
    }
    record = await takeSteps(plan.steps, record, { run, save });
    const running = service
      ? await waitForDaemon(home)
      : ((await findDaemon(home)) ?? (await startDaemonOf(home, env)).daemon);
    const target = {
      home,
      proxyHost: running.proxy_host,
      proxyPort: running.proxy_port,
      proxyPassword: plan.config.proxy.password,
    };
    const test = await selfTest(target);
    if (!test.ok) throw new CommandFailure(`the self-test failed: ${test.why}`);
    print(
      test.how === "metered"
        ? "Self-test: a call through the proxy, to a stand-in on this machine, was metered: 5 tokens, as stated."
        : "Self-test: a question to the Ollama on this machine passed through the proxy and was counted.",
    );
    const { caFile } = authorityFiles(home);
    const tls = await checkInterception(target, TLS_TEST_HOST, readFileSync(caFile, "utf8"));
    if (tls !== "intercepted" && tls !== "offline") {
      throw new CommandFailure(
        `the self-test failed: a TLS connection to ${TLS_TEST_HOST} through the proxy did not show the meter's certificate`,
      );
    }
    print(
      tls === "intercepted"
        ? `Self-test: TLS to ${TLS_TEST_HOST} through the proxy shows the meter's certificate.`
        : `Not tested: TLS to a provider, because ${TLS_TEST_HOST} can't be reached from here now.`,
    );
  } catch (cause) {
    print("Something failed; what was done is being undone.");
    const says = await takeBack(home, record, earlier, run).catch((error: Error) => [error.message]);
    for (const line of says) print(`  left: ${line}`);
    const running = await findDaemon(home);
    if (running !== null && ranBefore === null) await endProcess(running.pid).catch(() => {});
    if (ranBefore !== null && running === null) await startDaemonOf(home, env).catch(() => {});
    throw cause instanceof CommandFailure ? cause : new CommandFailure((cause as Error).message);
  }
  print(`Done. What was done is recorded in ${installRecordFile(home)}; meter uninstall takes it back.`);
  print(
    record.apps
      ? "New shells and sessions are metered; those that are open now are not."
      : `Meter a program with: meter run -- <command>. To meter all that new shells start: meter init --apps`,
  );
  return exitCodes.ok;
}
