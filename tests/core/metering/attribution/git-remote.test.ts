import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { normaliseRemote, readGitRemote } from "../../../../core/metering/attribution/git-remote.ts";

const remotes: readonly [url: string, remote: string | null][] = [
  ["https://github.com/acme/api.git", "github.com/acme/api"],
  ["https://github.com/Acme/API", "github.com/acme/api"],
  ["https://ann:secret@github.com/acme/api.git/", "github.com/acme/api"],
  ["https://ann:p@ss@github.com:8443//acme/api", "github.com/acme/api"],
  ["https://git.example.com/api?token=secret#x", "git.example.com/api"],
  ["git@github.com:acme/api.git", "github.com/acme/api"],
  ["github-work:acme/api", "github-work/acme/api"],
  ["git@host:/~ann/group/sub/api.git", "host/~ann/group/sub/api"],
  ["ssh://git@github.com:22/acme/api.git", "github.com/acme/api"],
  ["git://example.com/日本/api", "example.com/日本/api"],
  ["/srv/git/Api.git", "/srv/git/Api"],
  ["file:///srv/git/api/.git", "/srv/git/api"],
  ["C:\\git\\api.git", "C:\\git\\api"],
  ["C:/git/api/", "C:/git/api"],
  ["", null],
  ["/", null],
  ["../api.git", null],
  ["https://github.com", null],
  ["https://github.com/.git", null],
  ["https://user:pa/ss@github.com/acme/api", null],
  ["user:pass@host:acme/api", null],
  ["https://[::1]/acme/api", null],
  ["ext::sh -c whoami% >&2", null],
  [`https://github.com/acme/${"x".repeat(256)}`, null],
];

describe("normaliseRemote()", () => {
  for (const [url, remote] of remotes)
    it(`returns ${remote} for ${JSON.stringify(url.slice(0, 60))}`, () =>
      assert.equal(normaliseRemote(url), remote));

  // Seen to fail while an `@` could follow the host.
  it("returns no part of a login", () => {
    const part = fc.string({
      unit: fc.constantFrom("k", "1", ":", "@", "/", "%", "?", "#"),
      maxLength: 12,
    });
    fc.assert(
      fc.property(part, part, (user, password) => {
        const remote = normaliseRemote(`https://${user}:${password}@github.com/acme/api`);
        assert.ok(remote === null || remote === "github.com/acme/api", String(remote));
        if (!/[/?#]/.test(user + password)) assert.notEqual(remote, null);
      }),
    );
  });
});

describe("readGitRemote()", () => {
  const section = (name: string, url: string) => `[remote "${name}"]\n\turl = ${url}\n\tfetch = +refs\n`;

  it("returns the remote origin, else the first one", () => {
    const others = section("upstream", "https://a.org/x/api") + section("fork", "https://b.org/y/api");
    assert.equal(readGitRemote(others), "a.org/x/api");
    assert.equal(readGitRemote(others + section("origin", "https://c.org/z/api")), "c.org/z/api");
    assert.equal(readGitRemote(others + section("origin", "../api")), "a.org/x/api");
  });

  it("reads keys in any case, quotes, comments and Windows line ends", () => {
    const lines = [
      "[core]",
      "  bare = false",
      '[ Remote "origin" ] ; own',
      '  URL="https://a.org/x#y/api"#c',
      "",
    ];
    assert.equal(readGitRemote(lines.join("\r\n")), "a.org/x");
    assert.equal(readGitRemote('[remote "origin"]\nurl=https://a.org/x/api ; the server'), "a.org/x/api");
  });

  it("ignores URLs of other sections", () => {
    const text = '[remote "origin"]\n\tfetch = x\n[submodule "lib"]\n\turl = https://a.org/x/lib\n';
    assert.equal(readGitRemote(`url = https://a.org/x/y\n${text}`), null);
    assert.equal(readGitRemote(""), null);
  });
});
