import { applySteps } from "../../adapters/installer/apply-steps.ts";
import { installRecordFile, writeInstallRecord } from "../../adapters/installer/install-record.ts";
import type { RunProgram } from "../../adapters/installer/run-program.ts";
import { undoEntries } from "../../adapters/installer/undo-entries.ts";
import { findServiceCommands } from "../../core/operations/install/service-commands.ts";
import { type InstallRecord, isAuthorityTrusted, stepKey } from "../../core/operations/install/step.ts";
import { type FoundDaemon, findDaemon } from "../daemon/daemon-process.ts";
import { endProcess, startDaemonOf, stopDaemonOf, waitForDaemon } from "../daemon/start-daemon.ts";
import { CommandFailure, exitCodes } from "../program/exit-codes.ts";
import type { InstallPlan } from "./install-plan.ts";
import { checkInterception, SELF_TEST_MESSAGES, selfTest } from "./self-test.ts";
import { fingerprintOf } from "./trusted-authority.ts";

/** The provider whose host the TLS test connects to. */
export const TLS_TEST_HOST = "api.anthropic.com";

/** Undoes what this run did: all of a first installation, or the new steps of a later one. */
async function undoInstall(
  home: string,
  record: InstallRecord,
  earlier: InstallRecord | null,
  run: RunProgram,
): Promise<string[]> {
  const before = new Set(earlier?.entries.map(({ step }) => stepKey(step)));
  const isNew = ({ step }: InstallRecord["entries"][number]) => !before.has(stepKey(step));
  const undone = await undoEntries(record.entries.filter(isNew), run);
  const failed = undone.filter(({ outcome }) => outcome === "failed").map(({ entry }) => entry);
  const left = record.entries.filter((entry) => !isNew(entry) || failed.includes(entry));
  writeInstallRecord(home, left.length === 0 ? null : { ...record, entries: left });
  return undone.flatMap(({ problem }) => problem ?? []);
}

/** An installation in progress. */
interface Installation {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly plan: InstallPlan;
  /** The record of an earlier installation; null if this is the first. */
  readonly earlier: InstallRecord | null;
  readonly run: RunProgram;
  readonly print: (text: string) => void;
  /** The daemon that ran before; null if there was none. */
  readonly ranBefore: FoundDaemon | null;
  /** The record as last saved. */
  record: InstallRecord;
}

/**
 * Runs the steps of the plan, starts the daemon and tests it. If anything fails, undoes the steps and reports the failure.
 * Returns the exit code of `meter init`.
 */
export async function install(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  plan: InstallPlan,
  earlier: InstallRecord | null,
  run: RunProgram,
  print: (text: string) => void,
): Promise<number> {
  const ranBefore = await findDaemon(home);
  const installation = { home, env, plan, earlier, run, print, ranBefore, record: plan.record };
  try {
    await testInstallation(installation, await runSteps(installation));
  } catch (cause) {
    print("The installation failed. Undoing its steps.");
    await restore(installation);
    throw cause instanceof CommandFailure ? cause : new CommandFailure((cause as Error).message);
  }
  print(`Installed. The steps are recorded in ${installRecordFile(home)}.`);
  print("Undo them: meter uninstall");
  const { authority } = installation.record;
  if (plan.record.authority !== undefined && plan.record.authority !== authority)
    print(
      "The certificate was renewed. Restart programs that are running, because they trust the earlier one.",
    );
  for (const line of describeMetered(installation.record)) print(line);
  return exitCodes.ok;
}

/** Describes what is metered after an installation, as lines. */
export function describeMetered({ apps, entries }: Pick<InstallRecord, "apps" | "entries">): string[] {
  if (!apps)
    return [
      "Meter one program: meter run -- <command>",
      "Meter everything started from new shells: meter init --apps",
    ];
  // Windows has no start files: each new process has the variables.
  if (
    entries.some(
      ({ step }) => step.kind === "block" || (step.kind === "variable" && step.scope === "registry"),
    )
  )
    return ["New shells and sessions are metered. Open ones are not."];
  return [
    "No start file of a shell was found, so new shells are not metered.",
    "Name your shell: SHELL=/bin/bash meter init --apps",
  ];
}

/** Whether a daemon that was started with the earlier record has the environment of the new one. */
const hasSameEnvironment = (earlier: InstallRecord | null, { daemon_environment }: InstallRecord): boolean =>
  JSON.stringify(earlier?.daemon_environment ?? {}) === JSON.stringify(daemon_environment);

/** Runs the steps of the plan and returns the daemon that runs then. */
async function runSteps(installation: Installation): Promise<FoundDaemon> {
  const { home, env, plan, earlier, run, ranBefore } = installation;
  const save = (record: InstallRecord) => {
    installation.record = record;
    writeInstallRecord(home, record);
  };
  save(plan.record);
  const hasService = plan.steps.some(
    ({ step, how }) => how !== "keep" && step.kind === "commands" && /^(systemd|launchd|task)-/.test(step.id),
  );
  // Stop a daemon started by hand or by an older service, so that the new service can start one.
  if (hasService && ranBefore !== null) {
    for (const words of findServiceCommands(earlier)?.stop ?? []) await run(words);
    await endProcess(ranBefore.pid);
  }
  installation.record = await applySteps(plan.steps, installation.record, { run, save });
  const { authority: _, ...record } = installation.record;
  const authority = plan.certificateByHand ?? (isAuthorityTrusted(record) ? plan.certificatePem : undefined);
  save({ ...record, ...(authority !== undefined && { authority }) });
  const running = hasService ? await waitForDaemon(home) : await findDaemon(home);
  const isUpToDate =
    running?.authority === fingerprintOf(authority ?? plan.certificatePem) &&
    (hasService || hasSameEnvironment(earlier, plan.record));
  if (running !== null && isUpToDate) return running;
  // It reads the authority and the record's proxy when it starts.
  if (running !== null) await stopDaemonOf(home, running, env);
  return (await startDaemonOf(home, env)).daemon;
}

/** Tests that calls through the daemon's proxy are metered and that it issues certificates. Throws if a test fails. */
async function testInstallation({ home, plan, print }: Installation, running: FoundDaemon): Promise<void> {
  const target = {
    home,
    proxyHost: running.proxy_host,
    proxyPort: running.proxy_port,
    proxyPassword: plan.config.proxy.password,
  };
  const test = await selfTest(target);
  if (!test.ok) throw new CommandFailure(`The self-test failed. ${test.why}`);
  const message = SELF_TEST_MESSAGES[test.how];
  print(`Self-test: ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
  if (running.authority == null) {
    print(
      "Not tested: TLS to a provider, because the certificate that programs trust can't be used any more.",
    );
    return;
  }
  const tls = await checkInterception(target, TLS_TEST_HOST, plan.certificatePem);
  if (tls !== "intercepted" && tls !== "offline") {
    throw new CommandFailure(
      `The self-test failed. A TLS connection to ${TLS_TEST_HOST} through the proxy did not get meter's certificate.`,
    );
  }
  print(
    tls === "intercepted"
      ? `Self-test: a TLS connection to ${TLS_TEST_HOST} through the proxy got meter's certificate.`
      : `Not tested: TLS to a provider, because ${TLS_TEST_HOST} can't be reached.`,
  );
}

/** Undoes the steps, and starts or ends the daemon so that it runs only if it ran before. */
async function restore({ home, env, earlier, run, print, ranBefore, record }: Installation): Promise<void> {
  const problems = await undoInstall(home, record, earlier, run).catch((error: Error) => [error.message]);
  for (const problem of problems) print(`  Not undone: ${problem}`);
  const running = await findDaemon(home);
  if (running !== null && ranBefore === null) await endProcess(running.pid).catch(() => {});
  if (ranBefore !== null && running === null) await startDaemonOf(home, env).catch(() => {});
}
