import { describe } from "node:test";
import { createRandomBytes } from "../../../adapters/crypto/node-crypto.ts";
import { createMemoryAccounts } from "../../../adapters/memory/accounts.ts";
import { accountsContract } from "../accounts/accounts-contract.rig.ts";

describe("createMemoryAccounts()", () => {
  const accounts = createMemoryAccounts(createRandomBytes());
  accountsContract(() => accounts);
});
