import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openApi } from "../api/api.rig.ts";
import { sampleSettings } from "./sample-settings.rig.ts";

async function open(
  path: string,
  settings?: () => Promise<ReturnType<typeof sampleSettings>>,
  fill: (store: Awaited<ReturnType<typeof openApi>>["store"]) => void = () => {},
) {
  const rig = await openApi(settings === undefined ? {} : { settings });
  try {
    fill(rig.store);
    const answer = await rig.ask(path);
    return { status: answer.status, text: await answer.text() };
  } finally {
    rig.close();
  }
}

const rowOf = (text: string, key: string) =>
  text.split("<tr>").find((row) => row.includes(`<span class="sub">${key}</span>`)) ?? assert.fail(key);

describe("the local page of settings", () => {
  it("shows each value with its source and what changes it, and follows the file", async () => {
    const table = { bodies: { retention_days: 30 }, cloud: { upload: { preset: "minimal" } } };
    const { text } = await open("/settings", async () => sampleSettings(table, {}));
    const retention = rowOf(text, "bodies.retention_days");
    assert.match(retention, /90 days.*at the next start: <bdi>30 days<\/bdi>.*config\.toml/s);
    assert.match(retention, /\[bodies\]\nretention_days = 90/);
    const preset = rowOf(text, "cloud.upload.preset");
    assert.match(preset, /<bdi>minimal<\/bdi>.*config\.toml.*meter cloud privacy set preset minimal/s);
    assert.doesNotMatch(preset, /at the next start/);
    assert.match(rowOf(text, "proxy.port"), /<bdi>8081<\/bdi>.*default/s);
    assert.match(text, /\/home\/ann\/\.meter\/meter\.db<\/bdi>, 1\.2 MiB/);
    assert.match(text, /<a href="\/settings" aria-current="page">Settings<\/a>/);
    // It changes nothing.
    assert.doesNotMatch(text, /<form|method="post"/);
  });

  it("shows no secret, and escapes every value", async () => {
    const evil = "<script>alert(1)</script>";
    const table = {
      proxy: { password: "hunter2", parent: "http://ann:hunter2@proxy.test" },
      budget_warnings: { command: [evil, "hunter2"] },
    };
    for (const path of ["/settings", "/settings?format=json", "/settings?format=csv", "/v1/settings"]) {
      const { status, text } = await open(path, async () => sampleSettings(table));
      assert.equal(status, 200);
      assert.ok(!text.includes("hunter2"), path);
      if (path === "/settings") assert.ok(text.includes("&lt;script&gt;") && !text.includes(evil));
    }
  });

  it("has the same in its file and the API", async () => {
    const settings = async () => sampleSettings({ proxy: { port: 9000 } });
    const [file, api] = [await open("/settings?format=json", settings), await open("/v1/settings", settings)];
    assert.equal(file.text, api.text);
    const { settings: items } = JSON.parse(api.text) as {
      settings: { key: string; value: string; source: string }[];
    };
    const port = items.find(({ key }) => key === "proxy.port");
    assert.deepEqual([port?.value, port?.source], ["9000", "config.toml"]);
  });

  it("lists the projects that keep bodies, each with the command that ends it, as its files do", async () => {
    const settings = async () => sampleSettings();
    const at = (path: string) =>
      open(path, settings, (store) => {
        for (const project of ["web", "-x", "a b<i>"]) store.settings.setBodyCapture(project, true, 1);
        store.settings.setBodyCapture("off", false, 1);
      });
    const { text } = await at("/settings");
    const shown = [...text.matchAll(/data-copy="(meter project [^"]*)"/g)].map(([, command]) => command);
    assert.deepEqual(shown, [
      "meter project -- -x set body-capture off",
      "meter project &#39;a b&lt;i&gt;&#39; set body-capture off",
      "meter project web set body-capture off",
    ]);
    const { body_capture_projects: listed } = JSON.parse((await at("/v1/settings")).text);
    assert.deepEqual(listed, ["-x", "a b<i>", "web"]);
    assert.match((await at("/settings?format=csv")).text, /\r\nbody_capture_project,web,,meter project\r\n/);
    assert.match(
      (await open("/settings", settings)).text,
      /None\.[\s\S]*meter project PROJECT set body-capture on/,
    );
  });

  it("says why the file can't be read, and that nothing is known without a reader", async () => {
    const problem = "config.toml is not valid TOML. Fix line 2, column 1.";
    const broken = await open("/settings", async () => ({ ...sampleSettings(), problem }));
    assert.match(broken.text, /role="alert">config\.toml is not valid TOML\. Fix line 2/);
    assert.match((await open("/settings")).text, /The settings are not known/);
    assert.equal((await open("/v1/settings")).status, 404);
  });
});
