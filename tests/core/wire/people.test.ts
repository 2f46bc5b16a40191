import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import {
  emailAddress,
  invitationAcceptSchema,
  memberPatchSchema,
  newOrganisationSchema,
  organisationMemberPatchSchema,
} from "../../../core/wire/people.ts";

const accepts = (schema: v.GenericSchema, value: unknown) => v.safeParse(schema, value).success;

describe("emailAddress", () => {
  it("is trimmed and in lower case", () => {
    assert.equal(v.parse(emailAddress, "  Ada@Example.ORG "), "ada@example.org");
  });

  it("has an @, a domain and at most 254 characters", () => {
    for (const address of ["", "ada", "ada@", "@example.org", "a b@example.org", `${"a".repeat(250)}@b.org`])
      assert.equal(accepts(emailAddress, address), false, address);
  });
});

describe("roles", () => {
  it("include owner in an organisation only", () => {
    for (const role of ["member", "admin", "owner", "root"]) {
      assert.equal(accepts(memberPatchSchema, { role }), role === "member" || role === "admin", role);
      assert.equal(accepts(organisationMemberPatchSchema, { role }), role !== "root", role);
    }
  });
});

describe("names and tokens that a person sends", () => {
  it("are not empty; a name is one visible line of at most 100 characters, a token has at most 256", () => {
    const organisation = (name: string) => accepts(newOrganisationSchema, { name });
    assert.deepEqual(["", "  ", "a", "a".repeat(100), "a".repeat(101)].map(organisation), [
      ...[false, false, true, true, false],
    ]);
    assert.deepEqual(["a\nb", "\u200b"].map(organisation), [false, false]);
    const token = (text: string) => accepts(invitationAcceptSchema, { token: text });
    assert.deepEqual(["", "a", "a".repeat(256), "a".repeat(257)].map(token), [false, true, true, false]);
  });
});
