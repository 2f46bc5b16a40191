import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gitConfigValues } from "../../../../core/metering/attribution/git-config.ts";

describe("gitConfigValues()", () => {
  const config = `
[core]
	url = no
[Remote "origin"] ; comment
	URL = "https://a.org/x#y" ; comment
	url = https://b.org # comment
[remote "with \\"quotes\\" and \\\\"]
	url=c
[remote]
	url = none
[remotes "x"]
	url = other
`;
  it("returns the values of a key with their subsections, in order", () => {
    assert.deepEqual(
      [...gitConfigValues(config, "remote", "url")],
      [
        { subsection: "origin", value: "https://a.org/x#y" },
        { subsection: "origin", value: "https://b.org" },
        { subsection: 'with "quotes" and \\', value: "c" },
      ],
    );
    assert.deepEqual([...gitConfigValues("[remote", "remote", "url")], []);
  });
});
