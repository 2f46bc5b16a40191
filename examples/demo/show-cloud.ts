import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CloudProcess, startCloudProcess } from "../../tests/cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../../tests/cloud/kit/person.ts";
import { PROGRAMS_VARIABLE } from "../../tests/end-to-end/program-file.rig.ts";
import { createCertificateAuthority } from "../../tests/simulation/certificate-authority.ts";
import { heading, runMeter, type Stage, say } from "./run-meter.ts";

/** The demo's own cloud: TLS with its own authority, and an embedded database. */
export interface DemoCloud {
  readonly process: CloudProcess;
  readonly caPem: string;
}

/** The person who signs up. Use the password to look at the pages. */
export const ann = { name: "Ann", email: "ann@example.com", password: "correct horse battery staple" };

/** The cloud's home and its certificate. */
interface DemoCloudFiles {
  readonly caPem: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The folder for the cloud's home. */
  readonly home: string;
}

/** Creates an authority for the cloud and adds it to the file of additional certificates that the daemon trusts. */
export async function prepareDemoCloud(folder: string, trustedFile: string): Promise<DemoCloudFiles> {
  const authority = await createCertificateAuthority("The demo's cloud root");
  const { cert, key } = await authority.mintLeaf("127.0.0.1");
  const [certFile, keyFile] = [join(folder, "cloud-cert.pem"), join(folder, "cloud-key.pem")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  appendFileSync(trustedFile, authority.certificatePem);
  return { caPem: authority.certificatePem, certFile, keyFile, home: mkdtempSync(join(folder, "cloud-")) };
}

/** Starts the cloud in its own process. `killCloudProcesses()` stops it, even while it starts. */
export async function startDemoCloud(files: DemoCloudFiles): Promise<DemoCloud> {
  const words = ["--tls-cert", files.certFile, "--tls-key", files.keyFile];
  // `npm test` has prepared a database. Otherwise the cloud creates it while the calls run.
  const withDatabase = process.env[PROGRAMS_VARIABLE] !== undefined;
  return { process: await startCloudProcess({ words, home: files.home, withDatabase }), caPem: files.caPem };
}

/** Connects, syncs and reconciles. Returns false if the totals of daemon and cloud differ. */
export async function showCloud(
  stage: Stage,
  { process: { url }, caPem }: DemoCloud,
  shownId: string,
): Promise<{ isZero: boolean; overviewUrl: string }> {
  heading("meter-cloud serve");
  say(`It answers at ${url}, with TLS and an embedded database. ${ann.name} signs up.`);
  const person = await signUp(url, { ...ann, ca: caPem });
  try {
    await connect(stage, url, person);
    heading("meter cloud status");
    // A connected daemon sends automatically; the command waits until everything is sent.
    await runMeter(stage, ["sync"]);
    say(await runMeter(stage, ["cloud", "status"]));
    await showBodies(stage, person, shownId);

    heading("meter cloud privacy audit");
    say(await runMeter(stage, ["cloud", "privacy", "audit"]));

    heading("meter cloud reconcile");
    const today = new Date().toISOString().slice(0, 10);
    say(await runMeter(stage, ["cloud", "reconcile", "--from", today, "--to", today]));
    const { is_delivery_exact: isExact, difference_pico_usd: difference } = JSON.parse(
      await runMeter(stage, ["cloud", "reconcile", "--from", today, "--to", today, "--json"]),
    );
    const isZero = isExact === true && difference === "0";
    say(isZero ? "\nExactly zero, to the last token and pico-USD." : "\nNot zero.");

    heading("The cloud's overview page");
    const overviewUrl = `${url}/w/${person.workspaceId}`;
    say(overviewUrl);
    return { isZero, overviewUrl };
  } finally {
    await person.close();
  }
}

/** Pairs as people do: the command shows a code and waits, and a person approves it in the cloud. */
async function connect(stage: Stage, url: string, person: Person): Promise<void> {
  heading("meter cloud connect");
  let shown = "";
  let approval: Promise<void> | null = null;
  await runMeter(stage, ["cloud", "connect", "--base-url", url], (text) => {
    process.stdout.write(text);
    shown += text;
    const [, code] = /\n {2}code {2}(\S+)\n[\s\S]*Ctrl-C/.exec(shown) ?? [];
    if (code === undefined || approval !== null) return;
    say(`(${ann.name} compares the code and approves it.)`);
    approval = person.approve(code);
    // Otherwise the command would wait until the code expires.
    approval.catch(() => {});
  });
  await approval;
}

/** Bodies are sent only if both sides allow it. */
async function showBodies(stage: Stage, person: Person, shownId: string): Promise<void> {
  heading("Bodies: allowed here, not stored there");
  for (const setting of [
    ["bodies.enabled", "true"],
    ["bodies.upload-from", "none"],
  ]) {
    say(`> meter cloud privacy set ${setting.join(" ")}`);
    say(await runMeter(stage, ["cloud", "privacy", "set", ...setting]));
  }
  say("> meter sync");
  say(await runMeter(stage, ["sync"]));
  say("(None of them has left this machine.)");

  heading("Bodies: allowed here, stored there");
  const path = `/v1/workspaces/${person.workspaceId}/settings`;
  const { status } = await person.ask("PATCH", path, { store_prompt_content: true });
  if (status !== 200) throw new Error(`the workspace's setting could not be changed: ${status}`);
  say(`(${ann.name} lets the workspace store them.)\n> meter sync`);
  say(await runMeter(stage, ["sync"]));
  const { body } = await person.ask("GET", `/v1/traces/${shownId}/body`);
  say(`What the cloud has of one prompt (redacted: ${body.redaction_summary.join(", ")}):`);
  say(`  ${JSON.parse(body.request.text).messages[0].content}`);
}
