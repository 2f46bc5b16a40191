import { describe } from "node:test";
import { createRandomBytes } from "../../../adapters/crypto/mod.ts";
import { createMemoryAccounts } from "../../../adapters/memory/mod.ts";
import { accountsContract } from "../accounts/accounts-contract.ts";

describe("createMemoryAccounts()", () => {
  const accounts = createMemoryAccounts(createRandomBytes());
  accountsContract(() => accounts);
});
