import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CloudProcess, startCloudProcess } from "../../tests/cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../../tests/cloud/kit/person.ts";
import { createCertificateAuthority } from "../../tests/simulation/certificate-authority.ts";
import { heading, runMeter, type Stage, say } from "./run-meter.ts";

/** The demo's own cloud: TLS by an authority of its own, and an embedded database. */
export interface DemoCloud {
  readonly process: CloudProcess;
  readonly caPem: string;
}

/** Who signs up at it. The password is for whoever wants to look at the pages. */
export const ann = { name: "Ann", email: "ann@example.com", password: "correct horse battery staple" };

/** The cloud's home, and what it shows to prove who it is. */
export interface DemoCloudFiles {
  readonly caPem: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** Where the cloud's home is to stand. */
  readonly home: string;
}

/** Makes an authority for the cloud, and adds it to the file of those that the daemon trusts beside the system's. */
export async function prepareDemoCloud(folder: string, trustedFile: string): Promise<DemoCloudFiles> {
  const authority = await createCertificateAuthority("The demo's cloud root");
  const { cert, key } = await authority.mintLeaf("127.0.0.1");
  const [certFile, keyFile] = [join(folder, "cloud-cert.pem"), join(folder, "cloud-key.pem")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  appendFileSync(trustedFile, authority.certificatePem);
  return { caPem: authority.certificatePem, certFile, keyFile, home: mkdtempSync(join(folder, "cloud-")) };
}

/** Starts the cloud as a process of its own; `killCloudProcesses()` ends it, also while it starts. */
export async function startDemoCloud(files: DemoCloudFiles): Promise<DemoCloud> {
  const words = ["--tls-cert", files.certFile, "--tls-key", files.keyFile];
  return { process: await startCloudProcess({ words, home: files.home }), caPem: files.caPem };
}

/** Connects, syncs and reconciles; false where the daemon's books and the cloud's differ. */
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
    // A daemon that is connected sends at once by itself; the command waits until all of it is there.
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

/** Pairs as people do: the command shows a code and waits, and somebody at the cloud approves it. */
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
    // The command would wait for the code's end.
    approval.catch(() => {});
  });
  await approval;
}

/** Bodies leave only where both sides want it. */
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
  say("(Refused by the workspace's policy and still pending: one answer speaks for all that wait.)");

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
