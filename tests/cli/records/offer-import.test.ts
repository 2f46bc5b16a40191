import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, before, describe, it } from "node:test";
import { createCommandContext } from "../../../cli/program/command-context.ts";
import { importOffer, offerImport } from "../../../cli/records/offer-import.ts";

describe("importOffer()", () => {
  it("names the agents that have logs, and is empty without any", () => {
    const home = mkdtempSync(join(tmpdir(), "meter-offer-"));
    const env = { HOME: home, USERPROFILE: home };
    try {
      assert.deepEqual(importOffer(env), []);
      for (const folder of [".claude/projects", ".config/claude/projects", ".codex/sessions"])
        mkdirSync(join(home, folder), { recursive: true });
      assert.deepEqual(importOffer(env), [
        "Logs of past usage were found: Claude Code, Codex. Import them: meter import",
      ]);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});

describe("offerImport()", () => {
  const home = mkdtempSync(join(tmpdir(), "meter-offer-"));
  before(() => {
    mkdirSync(join(home, ".claude/projects/x"), { recursive: true });
    writeFileSync(join(home, ".claude/projects/x/session.jsonl"), "{}\n".repeat(400));
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  async function offer(
    answer: string | null,
    options: { isWanted: boolean | undefined; canAsk?: boolean },
    env: Record<string, string> = { HOME: home, USERPROFILE: home },
  ) {
    const isTTY = answer !== null;
    const stdin = Object.assign(new PassThrough(), { isTTY });
    const stdout = Object.assign(new PassThrough(), { isTTY });
    if (answer !== null) stdin.end(answer);
    let imports = 0;
    const context = createCommandContext({ stdin, stdout, stderr: new PassThrough(), env }, "meter");
    await offerImport(context, options, async () => void imports++);
    return { imports, text: String(stdout.read() ?? "") };
  }

  it("asks on a terminal, with what was found", async () => {
    const asked = { isWanted: undefined };
    const yes = await offer("y\n", asked);
    assert.match(yes.text, / {2}Claude Code: 1 file, 1\.2 KiB\n/);
    assert.equal(yes.imports, 1);
    for (const answer of ["n\n", "\n", ""]) {
      const no = await offer(answer, asked);
      assert.equal(no.imports, 0);
      assert.match(no.text, /Import them later: meter import/);
    }
  });

  it("never asks without a terminal or with --yes, and only names the command", async () => {
    for (const { imports, text } of [
      await offer(null, { isWanted: undefined }),
      await offer("y\n", { isWanted: undefined, canAsk: false }),
    ]) {
      assert.equal(imports, 0);
      assert.match(text, /^Logs of past usage were found: Claude Code\. Import them: meter import\n$/);
    }
  });

  it("follows --import and --no-import", async () => {
    assert.equal((await offer(null, { isWanted: true })).imports, 1);
    assert.deepEqual(await offer("y\n", { isWanted: false }), { imports: 0, text: "" });
  });

  it("prints nothing if no agent has logs", async () => {
    const env = { HOME: "/nowhere", USERPROFILE: "/nowhere" };
    assert.deepEqual(await offer("y\n", { isWanted: undefined }, env), { imports: 0, text: "" });
  });
});
