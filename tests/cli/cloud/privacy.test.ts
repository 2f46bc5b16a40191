import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createEmptyHome, runWords } from "../run-words.ts";

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

  it("shows that nothing leaves by itself, and what would", async () => {
    const { code, stdout } = await runWords(sample.home, ["cloud", "privacy", "show"], { COLUMNS: "80" });
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `The cloud is off: nothing leaves this machine. Connected, it would send this:

preset      standard (of minimal, standard, full)
always      request_id, requested_at, provider, model
sent        prompt_tokens, completion_tokens, cache_read_tokens,
            cache_write_tokens, cache_write_1h_tokens, thinking_tokens,
            tokens_complete, cost_usd_minor_units, cost_pico_usd, cost_source,
            rates_source, project, requested_model, request_kind, streaming,
            provider_cost_pico_usd, service_tier, usage_extras, latency_ms,
            ttfb_ms, http_status, error_class, provider_error_code, retryable,
            attribution_tier, prompt_hash
held back   method, path, source_workdir
local only  no project
never       prompts, completions, names of hosts, messages of errors: no field
            holds them

bodies      off: no text of a prompt or an answer leaves this machine
`,
    );
  });

  it("shows overrides, projects and bodies as they are resolved", async () => {
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
      /\nbodies {6}on: bodies captured since 2026-11-01T00:00:00\.000Z are sent, redacted;/,
    );
  });

  it("names the address in force: the environment's over the file's, and none for a host that stands for none", async () => {
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

  it("keeps what people wrote around a setting", async () => {
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

  it("stamps the moment when body upload is switched on, says so, and does not stamp again", async () => {
    const before = Date.now();
    const { stdout } = await set("bodies.enabled", "true");
    const stamp = (await show()).bodies.upload_from as string;
    assert.ok(Date.parse(stamp) >= before && Date.parse(stamp) <= Date.now());
    assert.ok(stdout.includes(stamp), "the notice names the moment");
    await set("bodies.upload-from", "2026-01-01");
    assert.equal((await set("bodies.enabled", "true")).stdout, "Body upload was on already.\n");
    assert.equal((await show()).bodies.upload_from, "2026-01-01T00:00:00.000Z");
    assert.equal((await set("bodies.upload-from", "none")).code, 0);
    assert.equal((await show()).bodies.upload_from, "all");
    assert.equal((await set("bodies.enabled", "false")).stdout, "No bodies are uploaded.\n");
  });

  /** What bodies are uploaded from once the uploader has seen the configuration. */
  const uploadFrom = async () => {
    const paused = await runWords(sample.home, ["cloud", "pause"]);
    const resumed = await runWords(sample.home, ["cloud", "resume"]);
    const { stdout } = await runWords(sample.home, ["cloud", "status", "--json"]);
    return { from: JSON.parse(stdout).bodies.upload_from, told: paused.stderr + resumed.stderr };
  };

  it("lets a watermark that is set after body upload was switched on win, before the uploader has seen either", async () => {
    await set("bodies.enabled", "true");
    await set("bodies.upload-from", "none");
    assert.deepEqual(await uploadFrom(), { from: null, told: "" });
    await set("bodies.upload-from", "2026-01-01");
    assert.deepEqual(await uploadFrom(), { from: "2026-01-01T00:00:00.000Z", told: "" });
    // Seen by now: what was set is no word about a switching to come.
    const bodies = (enabled: boolean) =>
      writeFileSync(
        file(),
        `[cloud.bodies]\nenabled = ${enabled}\nupload_from = "2026-01-01T00:00:00.000Z"\n`,
      );
    bodies(false);
    await uploadFrom();
    const before = Date.now();
    bodies(true);
    const { from, told } = await uploadFrom();
    assert.ok(Date.parse(from) >= before, from);
    assert.match(told, /body sync is on: bodies captured from 2/);
  });

  it("lets a watermark win over the moment of a switching by hand, also where the file said the same before", async () => {
    writeFileSync(file(), '[cloud.bodies]\nenabled = true\nupload_from = "none"\n');
    assert.equal((await show()).bodies.upload_from, "now", "the uploader has still to find it");
    const before = Date.now();
    const { from } = await uploadFrom();
    assert.ok(Date.parse(from) >= before);
    assert.equal((await show()).bodies.upload_from, from);
    await set("bodies.upload-from", "none");
    assert.equal((await show()).bodies.upload_from, "all");
    assert.deepEqual(await uploadFrom(), { from: null, told: "" });
  });

  it("shows what the file says where the database can't be read", async () => {
    await set("bodies.enabled", "true");
    await set("bodies.upload-from", "2026-01-01");
    writeFileSync(join(sample.home, "meter.db"), "no database");
    assert.equal((await show()).bodies.upload_from, "2026-01-01T00:00:00.000Z");
  });

  it("refuses what is malformed, with 2, and writes nothing", async () => {
    writeFileSync(file(), "# mine\n");
    const refused: [words: string[], said: RegExp][] = [
      [["preset", "Full"], /preset takes minimal, standard, full: "Full"/],
      [["field.request_id", "false"], /request_id goes out with every record/],
      [["field.promt", "false"], /no field is called "promt"; there are prompt_tokens, /],
      [["field.path", "yes"], /field\.path takes true or false: "yes"/],
      [["field.constructor", "true"], /no field is called "constructor"/],
      [["upload", "false"], /add --project <slug>/],
      [["upload", "false", "--project", "!!"], /not a project name: "!!"/],
      [["upload", "no", "--project", "web"], /upload takes true or false: "no"/],
      [["preset", "full", "--project", "web"], /preset is not set by project/],
      [["bodies.upload-from", "2026-13-01"], /takes now, none, a date or a datetime: "2026-13-01"/],
      [["bodies.upload-from", ""], /takes now, none, a date or a datetime: ""/],
      [["telemetry", "true"], /"telemetry" is no privacy setting; there are preset, /],
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
