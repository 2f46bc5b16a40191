/**
 * How many of the secrets that other scanners find redaction finds, and how often it redacts code and prose. Figures go
 * to standard output; the goals are asserted. The samples of secretlint are fetched from GitHub, or read from the
 * folder that SECRETLINT_SOURCE names.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import type { GitleaksData } from "../../tools/redaction/gitleaks-shapes.ts";
import { readRegex, sampleRegex } from "../../tools/redaction/regex-tree.ts";
import {
  ASSIGNMENTS,
  createPick,
  SECRET_NAMES,
  VALUE_KINDS,
} from "../core/privacy/redaction/secret-samples.rig.ts";
import { SECRET_FORMATS } from "./secret-formats.rig.ts";

const redact = createRedact();
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SECRETLINT_COMMIT = "18346ba31b8173d52060b971221ab38c1943def0";

function report(corpus: string, found: number, all: number, missed: readonly string[]): void {
  const share = `${found} of ${all} (${((100 * found) / all).toFixed(1)}%)`;
  process.stdout.write(`${corpus}: ${share}${missed.length > 0 ? `; missed: ${missed.join(", ")}` : ""}\n`);
}

/** Whether the text lost the middle of the secret. */
function isFound(text: string, secret: string): boolean {
  const result = redact(`${text}\n \n`);
  const middle = secret.slice(Math.min(8, secret.length >> 2), Math.max(12, Math.min(18, secret.length - 2)));
  return result.ok && result.summary.length > 0 && !result.text.includes(middle);
}

/** Returns a folder with the packages of secretlint, or null with the reason why there is none. */
async function secretlintFolder(): Promise<{ folder: string; remove(): void } | string> {
  const given = process.env.SECRETLINT_SOURCE;
  if (given !== undefined) return { folder: given, remove: () => {} };
  const folder = mkdtempSync(join(tmpdir(), "meter-secretlint-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const url = `https://codeload.github.com/secretlint/secretlint/tar.gz/${SECRETLINT_COMMIT}`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const archive = join(folder, "archive.tgz");
    writeFileSync(archive, Buffer.from(await answer.arrayBuffer()));
    execFileSync("tar", ["-xzf", archive, "-C", folder]);
    return { folder, remove };
  } catch (cause) {
    remove();
    return `the samples of secretlint can't be fetched from GitHub: ${String(cause)}`;
  }
}

interface SecretlintOutput {
  readonly messages?: readonly {
    readonly type: string;
    readonly messageId: string;
    readonly range: [number, number];
  }[];
  readonly sourceContent?: unknown;
}

/** These samples are not secrets: file names, home directories, settings of the linter, account numbers. */
const NO_SECRETS =
  /preset-|no-homedir|no-dotenv|filter-comments|rule-pattern|rule-example|rule-internal|k8s-kind/;

describe("redaction", () => {
  it("finds 90% of the secrets that gitleaks' rules describe", () => {
    const file = join(ROOT, "tools/redaction/gitleaks.data.json");
    const data = JSON.parse(readFileSync(file, "utf8")) as GitleaksData;
    const pick = createPick(42);
    const missed: string[] = [];
    const rules = data.rules.filter(({ regex }) => regex !== undefined);
    for (const { id, regex } of rules) {
      const tree = readRegex(regex as string);
      // Four of five, since a sample drawn at random may have less entropy than the rule asks for.
      const hits = Array.from({ length: 5 }, () => redact(`${sampleRegex(tree, pick)} \n`)).filter(
        (result) => result.ok && result.summary.length > 0,
      );
      if (hits.length < 4) missed.push(id);
    }
    report("gitleaks, rules", rules.length - missed.length, rules.length, missed);
    assert.ok(missed.length <= rules.length * 0.1);
  });

  it("finds 95% of the samples of secretlint", async (t) => {
    const source = await secretlintFolder();
    if (typeof source === "string") return t.skip(source);
    try {
      let all = 0;
      const missed: string[] = [];
      const files = globSync("**/secretlint-rule-*/test/snapshots/**/output.json", { cwd: source.folder });
      for (const file of files.filter((each) => !NO_SECRETS.test(each))) {
        const output = JSON.parse(readFileSync(join(source.folder, file), "utf8")) as SecretlintOutput;
        const text = output.sourceContent;
        if (typeof text !== "string") continue;
        for (const { type, messageId, range } of output.messages ?? []) {
          if (type !== "message" || messageId === "AWSAccountID") continue;
          all += 1;
          const secret = text.slice(...range);
          const result = redact(text);
          if (!result.ok || result.summary.length === 0 || result.text.includes(secret))
            missed.push(messageId);
        }
      }
      assert.ok(all > 50, `only ${all} samples in ${source.folder}`);
      report("secretlint, samples", all - missed.length, all, missed);
      assert.ok(missed.length <= all * 0.05);
    } finally {
      source.remove();
    }
  });

  it("finds 95% of random values under secret names", () => {
    const pick = createPick(5);
    let all = 0;
    let found = 0;
    for (const [, write] of ASSIGNMENTS) {
      for (const name of SECRET_NAMES) {
        for (const kind of VALUE_KINDS) {
          const value = kind.make(pick);
          const text = write(name, value);
          const result = redact(`${text} \n`);
          const middle = value.slice(8, 18);
          all += 1;
          if (result.ok && ![middle, encodeURIComponent(middle)].some((each) => result.text.includes(each)))
            found += 1;
        }
      }
    }
    report("values under secret names", found, all, []);
    assert.ok(found >= all * 0.95);
  });

  it("finds 90% of common credential formats", () => {
    const missed = SECRET_FORMATS.filter(([, make]) => {
      const hits = Array.from({ length: 10 }, make).filter(([text, secret]) => isFound(text, secret));
      return hits.length < 8;
    }).map(([name]) => name);
    report("formats", SECRET_FORMATS.length - missed.length, SECRET_FORMATS.length, missed);
    assert.ok(missed.length <= SECRET_FORMATS.length * 0.1);
  });

  // Before gitleaks' rules were added, 12 places besides email addresses were redacted, nearly all of them passwords of
  // examples.
  it("has at most twice the recorded false positives in 20 MiB of code and prose", () => {
    const pick = createPick(7);
    const files = globSync("node_modules/**/*.{js,ts,mjs,cjs,mts,md,json}", { cwd: ROOT }).sort();
    const shuffled = files
      // Tests of packages have sample card numbers and passwords, which are found rightly.
      .filter((file) => !/\.test\.|\/(?:test|tests|__tests__)\//.test(file))
      .map((file) => [pick(2 ** 30), file] as const)
      .sort(([one], [other]) => one - other)
      .map(([, file]) => join(ROOT, file));
    const counts = new Map<string, number>();
    let length = 0;
    for (const file of shuffled) {
      const status = statSync(file, { throwIfNoEntry: false });
      if (status?.isFile() !== true || status.size > 400_000) continue;
      const text = readFileSync(file, "utf8");
      const result = redact(text);
      assert.ok(result.ok, file);
      for (const [, rule = ""] of result.text.matchAll(/\[redacted:(\w+)\]/g)) {
        counts.set(rule, (counts.get(rule) ?? 0) + 1);
      }
      length += text.length;
      if (length > 20 * 1024 * 1024) break;
    }
    const marks = [...counts].map(([rule, count]) => `${rule} ${count}`).join(", ");
    process.stdout.write(`false positives in ${(length / 1024 / 1024).toFixed(1)} MiB: ${marks}\n`);
    const others = [...counts].reduce(
      (sum, [rule, count]) => sum + (rule === "email_address" ? 0 : count),
      0,
    );
    assert.ok(others <= 24, `${others} marks besides e-mail addresses`);
  });
});
