import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  formatOrigin,
  formatOrigins,
  originsByProject,
  originsOfNamesakes,
  type StoredOrigins,
} from "../../../../core/metering/attribution/list-origins.ts";

const assignment = (name: string, origin: string, folder: string, slug = name) => ({
  ...{ name, origin, folder, slug },
});
const stored = (merges: readonly [string, string][] = []): StoredOrigins => ({
  assignments: [
    assignment("api", "/home/ann/work/api", "/home/ann/work/api"),
    assignment("api", "github.com/ann/api", "/home/ann/work/api"),
    assignment("api", "github.com/acme/api", "/srv/api", "api-acme"),
    assignment("web", "/srv/web", "/srv/web"),
  ],
  merges: new Map(merges),
});
const ann = { remote: "github.com/ann/api", folder: "/home/ann/work/api" };
const acme = { remote: "github.com/acme/api", folder: "/srv/api" };
const web = { remote: null, folder: "/srv/web" };

describe("originsByProject()", () => {
  it("lists a repository once, by its remote, and adds what was merged", () => {
    assert.deepEqual(
      [...originsByProject(stored())],
      [
        ["api", [ann]],
        ["api-acme", [acme]],
        ["web", [web]],
      ],
    );
    assert.deepEqual(originsByProject(stored([["api-acme", "api"]])).get("api"), [ann, acme]);
  });
});

describe("originsOfNamesakes()", () => {
  it("lists only projects that share the name of their folders", () => {
    assert.deepEqual([...originsOfNamesakes(stored()).keys()], ["api", "api-acme"]);
    assert.equal(originsOfNamesakes(stored([["api-acme", "api"]])).size, 0);
  });
});

describe("formatOrigins()", () => {
  it("formats the remote, or the folder below the home directory", () => {
    assert.equal(formatOrigins([], null), "–");
    assert.equal(formatOrigins([acme, web], null), "github.com/acme/api and 1 more");
    assert.equal(formatOrigins([web], "/srv"), "~/web");
    assert.equal(formatOrigin(web, null), "/srv/web");
    assert.equal(formatOrigin({ remote: null, folder: "/srvs/web" }, "/srv"), "/srvs/web");
    assert.equal(formatOrigin({ remote: null, folder: "C:\\Users\\ann\\api" }, "C:\\Users\\ann"), "~\\api");
  });
});
