import { encodeBase64 } from "../../../core/wire/base64.ts";
import { batch, type CloudRig, record, type TestWorkspace } from "./cloud-rig.ts";

/** Sends the metadata of a request and returns its id. */
export async function sendRequest(
  rig: CloudRig,
  workspace: TestWorkspace,
  fields: Record<string, unknown> = {},
  token: string = workspace.token,
): Promise<string> {
  const requestId = rig.uuid();
  await rig.call("POST", "/v1/requests/batch", token, batch(record(requestId, fields)));
  return requestId;
}

/** Sends one body. */
export async function sendBody(
  rig: CloudRig,
  workspace: TestWorkspace,
  requestId: string,
  text: string,
  fields: Record<string, unknown> = {},
): Promise<Response> {
  const payload = { ...bodyPayload(requestId, text), ...fields };
  return await rig.call("POST", `/v1/requests/${requestId}/body`, workspace.token, payload);
}

/** The envelope of a request's text. */
export function bodyPayload(requestId: string, text: string): Record<string, unknown> {
  const utf8 = new TextEncoder().encode(text);
  return {
    request_id: requestId,
    direction: "request",
    content_type: "application/json",
    body_b64: encodeBase64(utf8),
    redaction_applied: false,
    redaction_summary: [],
    original_size_bytes: utf8.length,
  };
}
