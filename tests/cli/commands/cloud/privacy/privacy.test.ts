import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createCredentialStore } from "../../../../../adapters/cloud-credentials/credential-store.ts";
import { credentialsFor } from "../../../../daemon/cloud/cloud.rig.ts";
import { createEmptyHome, runWords } from "../../../run-command.rig.ts";

describe("meter cloud privacy", () => {
  let sample: ReturnType<typeof createEmptyHome>;
  beforeEach(() => {
    sample = createEmptyHome();
  });
  afterEach(() => sample.remove());
  const file = () => join(sample.home, "config.toml");
  const set = (...words: string[]) => runWords(sample.home, ["cloud", "privacy", "set", ...words]);
  const show = async () =>
    JSON.parse((await runWords(sample.home, ["cloud", "privacy", "show", "--json"])).stdout);

  it("shows that nothing is sent by default, and what would be", async () => {
    const { code, stdout } = await runWords(sample.home, ["cloud", "privacy", "show"], { COLUMNS: "80" });
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `The cloud is off: nothing leaves this machine. If it were connected, this would
be sent:

preset      standard (available: minimal, standard, full)
always      request_id, requested_at, provider, model
sent        prompt_tokens, completion_tokens, cache_read_tokens,
            cache_write_tokens, cache_write_1h_tokens, thinking_tokens,
            tokens_complete, cost_usd_minor_units, cost_pico_usd, cost_source,
            billing_mode, rates_source, project, requested_model, request_kind,
            streaming, provider_cost_pico_usd, service_tier, usage_extras,
            latency_ms, ttfb_ms, http_status, error_class, provider_error_code,
            retryable, blocked_by, attribution_tier, session_id, session_source,
            turn_id, agent_id, parent_agent_id, agent_kind, record_source,
            prompt_hash, prompt_hash_kind, coverage
held back   client_version, git_branch, git_commit, git_remote, pull_request,
            method, path, source_workdir, limit_readings
prompt_hash plain (SHA-256): it contains no text, but a short or guessable
            prompt can be confirmed by hashing guesses. If the cloud supports
            keys, get one by pairing again: meter cloud connect --force
ids         keyed (HMAC-SHA-256) with a key that only this machine has, so the
            cloud cannot read them
coverage    how many calls were metered and missed in each hour, over all
            projects, and when the daemon ran; no host, path or project
local only  no project
never       prompts, completions, host names, error messages: no field contains
            them

bodies      off: no prompt or answer text leaves this machine
`,
    );
  });

  it("shows the OpenTelemetry collector and the webhooks, with what they are sent, and no secret", async () => {
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    writeFileSync(
      file(),
      `[telemetry.export]
endpoint = "https://otel.example.com/team"
signals = ["metrics"]
fields = "minimal"
headers = { authorization = "Bearer hidden" }

[[webhooks]]
url = "https://hooks.example.com/hidden-path"
events = ["record.stored"]
secret = "${secret}"
`,
    );
    const { stdout } = await runWords(sample.home, ["cloud", "privacy", "show"]);
    assert.match(stdout, /^The cloud is off: nothing is sent to it\./);
    assert.match(
      stdout,
      /^otlp +metrics to https:\/\/otel\.example\.com\n +fields of minimal: request_id, /m,
    );
    assert.match(
      stdout,
      /^webhook +record\.stored to https:\/\/hooks\.example\.com\n +fields of standard: /m,
    );
    assert.ok(!stdout.includes("hidden") && !stdout.includes(secret), stdout);
    const { exports } = await show();
    assert.deepEqual(
      exports.map((each: Record<string, unknown>) => [each.kind, each.to, each.what, each.preset]),
      [
        ["otlp", "https://otel.example.com", ["metrics"], "minimal"],
        ["webhook", "https://hooks.example.com", ["record.stored"], "standard"],
      ],
    );
    assert.ok(!exports[1].sent_fields.includes("prompt_hash"));
  });

  it("shows overrides, projects and bodies as resolved", async () => {
    await set("preset", "minimal");
    await set("field.prompt_hash", "true");
    await set("upload", "false", "--project", "My Web!");
    await set("bodies.enabled", "true");
    await set("bodies.upload", "false", "--project", "x");
    await set("bodies.upload-from", "2026-11-01T01:00+01:00");
    const summary = await show();
    assert.equal(summary.preset, "minimal");
    assert.deepEqual(summary.overrides, [{ field: "prompt_hash", sent: true, by_preset: false }]);
    assert.deepEqual(summary.local_only_projects, ["my-web"]);
    assert.deepEqual(summary.bodies, {
      enabled: true,
      upload_from: "2026-11-01T00:00:00.000Z",
      sync_interval_seconds: 60,
      max_body_bytes_per_upload: 1_048_576,
      projects_off: ["x"],
    });
    const { stdout } = await runWords(sample.home, ["cloud", "privacy", "show"]);
    assert.match(stdout, /\noverride {4}prompt_hash is sent; minimal alone would hold it back\n/);
    assert.match(
      stdout,
      /\nbodies {6}on: bodies captured since 2026-11-01T00:00:00\.000Z are sent redacted;/,
    );
  });

  it("says why the coverage is held back", async () => {
    const text = async () =>
      (await runWords(sample.home, ["cloud", "privacy", "show"], { COLUMNS: "400" })).stdout;
    await set("upload", "false", "--project", "secret");
    assert.match(await text(), /^coverage +not sent while a project is local only, .+field\.coverage true$/m);
    assert.ok((await show()).held_back_fields.includes("coverage"));
    await set("field.coverage", "true");
    assert.match(await text(), /^coverage +how many calls were metered /m);
    await set("field.coverage", "false");
    assert.match(await text(), /^coverage +not sent$/m);
  });

  it("shows the form in which prompt_hash is sent, and what a plain one can reveal", async () => {
    const credentials = { ...credentialsFor("https://cloud.company"), promptHashKey: "5e".repeat(32) };
    await createCredentialStore(sample.home).write(credentials);
    const shown = async () => (await runWords(sample.home, ["cloud", "privacy", "show"])).stdout;
    assert.equal((await show()).prompt_hash, "keyed");
    assert.match(
      await shown(),
      /\nprompt_hash keyed \(HMAC-SHA-256\): a guessed prompt can be confirmed only/,
    );
    assert.match((await set("prompt-hash-kind", "plain")).stdout, /can be confirmed by hashing guesses/);
    assert.equal((await show()).prompt_hash, "plain");
    assert.match(await shown(), /Send\s+it\s+keyed:\s+meter\s+cloud\s+privacy\s+set/);
    await createCredentialStore(sample.home).clear();
    await set("prompt-hash-kind", "keyed");
    assert.equal((await show()).prompt_hash, "not_sent");
    assert.equal((await set("prompt-hash-kind", "maybe")).code, 2);
    assert.match((await set("field.prompt_hash_kind", "true")).stderr, /is sent together with prompt_hash/);
    assert.ok(!(await shown()).includes("5e5e"));
  });

  it("shows the address in force: the environment's before the file's, and none for a placeholder host", async () => {
    writeFileSync(file(), '[cloud]\nbase_url = "https://file.company/"\n');
    const addressWith = async (HALTON_METER_CLOUD_URL: string | undefined) => {
      const words = ["cloud", "privacy", "show", "--json"];
      const { base_url, warnings } = JSON.parse(
        (await runWords(sample.home, words, { HALTON_METER_CLOUD_URL })).stdout,
      );
      return [base_url, warnings.length];
    };
    assert.deepEqual(await addressWith(undefined), ["https://file.company", 0]);
    assert.deepEqual(await addressWith(""), ["https://file.company", 0]);
    assert.deepEqual(await addressWith("https://env.company"), ["https://env.company", 0]);
    for (const suffix of ["test", "example", "invalid", "local"]) {
      assert.deepEqual(await addressWith(`https://env.${suffix}`), [null, 1]);
    }
  });

  it("keeps comments and spacing around a setting", async () => {
    writeFileSync(
      file(),
      "# my settings\n[cloud.upload]   # what goes\npreset = 'full'  # all\n\n[proxy]\nport = 9000\n",
    );
    assert.equal((await set("preset", "standard")).stdout, "The upload preset is standard.\n");
    assert.equal(
      readFileSync(file(), "utf8"),
      '# my settings\n[cloud.upload]   # what goes\npreset = "standard"  # all\n\n[proxy]\nport = 9000\n',
    );
  });

  it("sets a project under every spelling that it has in the file", async () => {
    writeFileSync(
      file(),
      '[cloud.upload.per_project]\nWEB = true\nweb = { upload = true }\n"my web" = true\n',
    );
    await set("upload", "false", "--project", "web");
    assert.equal(
      readFileSync(file(), "utf8"),
      '[cloud.upload.per_project]\nWEB = false\nweb = { upload = false }\n"my web" = true\n',
    );
    assert.deepEqual((await show()).local_only_projects, ["web"]);
  });

  it("stores the time when body upload is turned on, prints it, and keeps it when turned on again", async () => {
    const before = Date.now();
    const { stdout } = await set("bodies.enabled", "true");
    const stamp = (await show()).bodies.upload_from as string;
    assert.ok(Date.parse(stamp) >= before && Date.parse(stamp) <= Date.now());
    assert.ok(stdout.includes(stamp), "the notice names the moment");
    await set("bodies.upload-from", "2026-01-01");
    assert.equal((await set("bodies.enabled", "true")).stdout, "Body upload was already on.\n");
    assert.equal((await show()).bodies.upload_from, "2026-01-01T00:00:00.000Z");
    assert.equal((await set("bodies.upload-from", "none")).code, 0);
    assert.equal((await show()).bodies.upload_from, "all");
    assert.equal((await set("bodies.enabled", "false")).stdout, "Body upload is off.\n");
  });

  /** A connection whose cloud is never called: pausing and resuming do not need it. */
  const connected = '[cloud]\nenabled = true\nbase_url = "http://127.0.0.1:9"\n';
  const connect = async () => {
    writeFileSync(file(), connected);
    await createCredentialStore(sample.home).write(credentialsFor("http://127.0.0.1:9"));
  };
  /** The time from which bodies are uploaded, once the uploader has read the configuration. */
  const uploadFrom = async () => {
    const paused = await runWords(sample.home, ["cloud", "pause"]);
    const resumed = await runWords(sample.home, ["cloud", "resume"]);
    const { stdout } = await runWords(sample.home, ["cloud", "status", "--json"]);
    return { from: JSON.parse(stdout).bodies.upload_from, told: paused.stderr + resumed.stderr };
  };

  it("prefers an upload-from that is set after body upload was turned on, before the uploader has read either", async () => {
    await connect();
    await set("bodies.enabled", "true");
    await set("bodies.upload-from", "none");
    assert.deepEqual(await uploadFrom(), { from: null, told: "" });
    await set("bodies.upload-from", "2026-01-01");
    assert.deepEqual(await uploadFrom(), { from: "2026-01-01T00:00:00.000Z", told: "" });
    // The uploader has read it by now, so the value does not apply to a later switch.
    const bodies = (enabled: boolean) =>
      writeFileSync(
        file(),
        `${connected}[cloud.bodies]\nenabled = ${enabled}\nupload_from = "2026-01-01T00:00:00.000Z"\n`,
      );
    bodies(false);
    await uploadFrom();
    const before = Date.now();
    bodies(true);
    const { from, told } = await uploadFrom();
    assert.ok(Date.parse(from) >= before, from);
    assert.match(told, /Body sync is on\. Bodies captured from 2/);
  });

  it("prefers an upload-from to the time of a manual edit, even if the file had the same value before", async () => {
    await connect();
    const bodies = (enabled: boolean) =>
      writeFileSync(file(), `${connected}[cloud.bodies]\nenabled = ${enabled}\nupload_from = "none"\n`);
    bodies(false);
    await uploadFrom();
    bodies(true);
    assert.equal((await show()).bodies.upload_from, "now", "the uploader has still to find it");
    const before = Date.now();
    const { from } = await uploadFrom();
    assert.ok(Date.parse(from) >= before);
    assert.equal((await show()).bodies.upload_from, from);
    await set("bodies.upload-from", "none");
    assert.equal((await show()).bodies.upload_from, "all");
    assert.deepEqual(await uploadFrom(), { from: null, told: "" });
  });

  it("shows the file's value if the database can't be read", async () => {
    await set("bodies.enabled", "true");
    await set("bodies.upload-from", "2026-01-01");
    writeFileSync(join(sample.home, "meter.db"), "no database");
    assert.equal((await show()).bodies.upload_from, "2026-01-01T00:00:00.000Z");
  });

  it("rejects invalid arguments with 2, and writes nothing", async () => {
    writeFileSync(file(), "# mine\n");
    const refused: [words: string[], said: RegExp][] = [
      [
        ["preset", "Full"],
        /^meter: Invalid value for preset: "Full"\. Expected: minimal, standard, full\.\n/,
      ],
      [["field.request_id", "false"], /request_id is sent with every record/],
      [["field.promt", "false"], /There is no field "promt"\. Expected: prompt_tokens, /],
      [["field.path", "yes"], /Invalid value for field\.path: "yes"\. Expected: true or false\./],
      [["field.constructor", "true"], /There is no field "constructor"/],
      [["upload", "false"], /Add --project <slug>\./],
      [["upload", "false", "--project", "!!"], /Invalid value for --project: "!!"/],
      [["upload", "no", "--project", "web"], /Invalid value for upload: "no"\. Expected: true or false\./],
      [["preset", "full", "--project", "web"], /preset is not set per project/],
      [
        ["bodies.upload-from", "2026-13-01"],
        /bodies\.upload-from: "2026-13-01"\. Expected: now, none, a date/,
      ],
      [["bodies.upload-from", ""], /bodies\.upload-from: ""\. Expected: now, none, a date/],
      [["telemetry", "true"], /"telemetry" is not a privacy setting\. Expected: preset, /],
    ];
    for (const [words, said] of refused) {
      const { code, stderr, stdout } = await set(...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(stderr, said);
      assert.equal(stdout, "");
    }
    assert.equal(readFileSync(file(), "utf8"), "# mine\n");
  });
});
