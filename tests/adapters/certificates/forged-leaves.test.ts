import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { onNodeOnly } from "../../end-to-end/meter-process.rig.ts";
import { type ForgedLeaf, forge, names, subjectOf } from "./forged-leaves.rig.ts";
import { checkClient, type LeafRange, runtimeClients, startLeafRange } from "./leaf-clients.rig.ts";

const noOpenssl =
  spawnSync("openssl", ["version"]).status === 0 ? onNodeOnly : "there is no openssl program here";

describe("leaves forged with the authority's key", { skip: onNodeOnly }, () => {
  let range: LeafRange;
  before(async () => {
    range = await startLeafRange();
  });
  after(() => range.close());

  for (const client of runtimeClients) {
    const exceptions =
      client.accepts === undefined ? "" : ", except those with a host only in the common name";
    it(
      `are rejected by ${client.name}, which accepts the meter's own${exceptions}`,
      { skip: client.skip },
      () => checkClient(range, client),
    );
  }

  const verify = ({ chain }: ForgedLeaf, purpose: string) =>
    spawnSync("openssl", [
      ...["verify", "-x509_strict", "-purpose", purpose],
      ...["-CAfile", range.authority.certificatePath],
      range.script("leaf.pem", chain.certificatePem),
    ]).status === 0;

  it("are rejected by OpenSSL's strict checks, which accept the meter's own", { skip: noOpenssl }, () => {
    for (const leaf of range.own) assert.equal(verify(leaf, "sslserver"), true, leaf.name);
    const accepted = range.forged.filter((leaf) => verify(leaf, "sslserver")).map(({ name }) => name);
    // It is presented for another host than the one in its list.
    assert.deepEqual(accepted, ["common name, permitted DNS name"]);
  });

  it("are not valid for email, code or TLS clients, because the authority is limited to TLS servers", {
    skip: noOpenssl,
  }, () => {
    const usages: readonly [purpose: string, usage: string][] = [
      ["smimesign", "1.3.6.1.5.5.7.3.4"],
      ["sslclient", "1.3.6.1.5.5.7.3.2"],
      ["timestampsign", "1.3.6.1.5.5.7.3.8"],
    ];
    for (const [purpose, usage] of usages) {
      const { authority } = range;
      const chain = forge(authority, subjectOf(authority), {
        subject: null,
        names: [names.dns("openrouter.ai")],
        usage,
      });
      assert.equal(verify({ name: purpose, host: "openrouter.ai", chain }, purpose), false, purpose);
    }
  });
});
