import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { API_ROUTES } from "../../../cloud/api/api-routes.ts";
import type { ApiCall, ApiHandlers } from "../../../cloud/routes/api-call.ts";
import { API_HANDLERS } from "../../../cloud/routes/api-handlers.ts";

describe("the handlers of the API", () => {
  it("are exactly those of the routes in the table", () => {
    assert.deepEqual(Object.keys(API_HANDLERS).toSorted(), Object.keys(API_ROUTES).toSorted());
  });

  // The compiler checks these: an expected error that does not occur is an error.
  it("cannot be missing or without a route", () => {
    const { "GET /v1/me": _, ...others } = API_HANDLERS;
    // @ts-expect-error: the handler of `GET /v1/me` is missing.
    const missing: ApiHandlers = others;
    const surplus = {
      // @ts-expect-error: the table has no such route.
      "GET /v1/unknown": () => new Response(),
    } satisfies Partial<ApiHandlers>;
    assert.ok(missing !== undefined && surplus !== undefined);
  });

  it("get the caller, the workspace and the input that their route declares, and nothing else", () => {
    const read = (call: ApiCall<"GET /v1/me">) => {
      // @ts-expect-error: the route is not below a workspace.
      void call.workspace;
      // @ts-expect-error: a person calls it, not a key.
      void call.key;
      // @ts-expect-error: the table has no answer 201 for it.
      call.answer(201, {});
      // @ts-expect-error: the answer does not match the schema.
      call.answer(200, { user: "name" });
      return call.actor.userId;
    };
    assert.equal(typeof read, "function");
  });
});
