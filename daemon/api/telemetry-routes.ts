import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ClientReport } from "../../core/metering/client-reports/client-report.ts";
import { OTLP_REQUESTS, type OtlpSignal } from "../../core/metering/client-reports/otlp-shapes.ts";
import { decodeProtobuf, ProtobufError } from "../../core/metering/client-reports/protobuf-fields.ts";
import { readOtlp } from "../../core/metering/client-reports/read-otlp.ts";
import { redactReport } from "../../core/metering/client-reports/redact-report.ts";
import type { CreateContentDecoder, DecodingEnd } from "../../core/ports/content-decoder.ts";
import type { Redact } from "../../core/privacy/redaction/redact.ts";
import { joinBytes } from "../../core/values/join-bytes.ts";
import type { Millis } from "../../core/values/time.ts";
import type { ClientReportStore } from "../store/port/client-reports.ts";
import { problem } from "./problem.ts";

/** The largest payload in bytes, as it is sent. Source: docs/specification.md#reports-of-clients. */
export const MAX_TELEMETRY_BYTES = 4 * 1024 * 1024;

/** The largest decompressed payload in bytes. Source: docs/specification.md#reports-of-clients. */
export const MAX_DECODED_TELEMETRY_BYTES = 16 * 1024 * 1024;

/** What the receiver of OpenTelemetry needs. */
export interface TelemetryPorts {
  readonly reports: Pick<ClientReportStore, "save">;
  readonly createDecoder: CreateContentDecoder;
  readonly redact: Redact;
  /** Called when a payload was refused, with the reason as a sentence that does not quote it. */
  onRefused?(reason: string): void;
  sha256Hex(text: string): string;
  now(): Millis;
}

/**
 * Creates the receiver of OTLP over HTTP: JSON and protobuf, with or without gzip. Only the usage that clients state is stored, and
 * everything else is dropped. Access is checked before. Source: docs/specification.md#reports-of-clients.
 */
export function createTelemetryRoutes(ports: TelemetryPorts): Hono {
  const routes = new Hono();
  const refuse: Refuse = (context, status, code, detail) => {
    ports.onRefused?.(detail);
    return problem(context, status, code, detail);
  };
  routes.use(
    bodyLimit({
      maxSize: MAX_TELEMETRY_BYTES,
      onError: (context) =>
        refuse(context, 413, "body_too_large", `The payload is larger than ${MAX_TELEMETRY_BYTES} bytes.`),
    }),
  );
  for (const signal of SIGNALS)
    routes.post(`/v1/${signal}`, (context) => receive(ports, [signal], context, refuse));
  // Versions of Gemini CLI append nothing and send JSON, whose members name the signal.
  routes.post("/", (context) => receive(ports, SIGNALS, context, refuse));
  return routes;
}

type Refuse = (context: Context, status: 400 | 413 | 415, code: string, detail: string) => Response;

const SIGNALS = Object.keys(OTLP_REQUESTS) as OtlpSignal[];

async function receive(
  ports: TelemetryPorts,
  signals: readonly OtlpSignal[],
  context: Context,
  refuse: Refuse,
): Promise<Response> {
  const type = (context.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json" && type !== "application/x-protobuf")
    return refuse(
      context,
      415,
      "unsupported_media_type",
      "The payload must be application/json or application/x-protobuf.",
    );
  const refuseContent = (detail: string) => refuse(context, 400, "invalid_payload", detail);
  const encoding = context.req.header("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip")
    return refuseContent("The content encoding must be gzip or absent.");
  const sent = new Uint8Array(await context.req.arrayBuffer());
  const body = encoding === "gzip" ? await decompress(ports.createDecoder, sent) : sent;
  if (body === "too_large")
    return refuse(
      context,
      413,
      "body_too_large",
      `The payload is larger than ${MAX_DECODED_TELEMETRY_BYTES} bytes after decompression.`,
    );
  if (typeof body === "string") return refuseContent("The payload is not valid gzip.");
  const isJson = type === "application/json";
  const parsed = isJson ? parseJson(body) : parseProtobuf(body, signals);
  if (!parsed.ok) return refuseContent(parsed.detail);
  const found = signals.flatMap((signal) => readOtlp(signal, parsed.payload, ports.now()));
  if (found.length > 0) ports.reports.save(found.map((report) => toStorable(report, ports)));
  return isJson ? context.json({}) : context.body(null, 200, { "content-type": "application/x-protobuf" });
}

function decompress(
  createDecoder: CreateContentDecoder,
  sent: Uint8Array,
): Promise<Uint8Array | Exclude<DecodingEnd, "whole">> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const decoder = createDecoder("gzip", {
      bytes(bytes) {
        size += bytes.length;
        if (size <= MAX_DECODED_TELEMETRY_BYTES) chunks.push(bytes.slice());
        else resolve("too_large");
      },
      ended(how) {
        resolve(how === "whole" ? joinBytes(chunks) : how);
      },
    });
    decoder?.push(sent);
    decoder?.end();
  });
}

type Parsed =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly detail: string };

function parseJson(body: Uint8Array): Parsed {
  try {
    const payload: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof payload === "object" && payload !== null && !Array.isArray(payload)
      ? { ok: true, payload }
      : { ok: false, detail: "The payload is not a JSON object." };
  } catch {
    // The error of the parser quotes the payload.
    return { ok: false, detail: "The payload is not valid JSON." };
  }
}

function parseProtobuf(body: Uint8Array, [signal, ...others]: readonly OtlpSignal[]): Parsed {
  if (signal === undefined || others.length > 0)
    return { ok: false, detail: "A protobuf payload must be sent to /otlp/v1/logs, metrics or traces." };
  try {
    return { ok: true, payload: decodeProtobuf(body, OTLP_REQUESTS[signal]) };
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    return { ok: false, detail: `The payload is not a valid protobuf message: ${error.message}.` };
  }
}

/** Removes names and ids that contain a secret, and shortens the key to its hash. */
const toStorable = (report: ClientReport, { redact, sha256Hex }: TelemetryPorts): ClientReport => ({
  ...redactReport(report, redact),
  key: sha256Hex(report.key),
});
