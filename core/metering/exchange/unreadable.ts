/**
 * Why the framing of a connection is ambiguous or invalid. Two correct parsers could read such bytes differently, so that a
 * meter that continued could count something the other side never saw. The values are stable, because they are stored and
 * counted.
 */
export type UnreadableReason =
  // The shape of a head (RFC 9112 sections 2 to 5).
  | "head_too_long"
  | "bare_lf_in_head"
  | "bare_cr_in_head"
  | "control_byte_in_head"
  | "bad_request_line"
  | "bad_status_line"
  | "bad_http_version"
  | "bad_header_name"
  | "folded_header"
  // The length of a body (RFC 9112 section 6).
  | "bad_content_length"
  | "differing_content_lengths"
  | "length_and_transfer_encoding"
  | "bad_transfer_encoding"
  | "transfer_encoding_in_http_1_0"
  | "body_where_none_may_be"
  // Chunks (RFC 9112 section 7.1).
  | "bad_chunk_size"
  | "bad_chunk_extension"
  | "chunk_line_too_long"
  | "bad_chunk_end"
  | "bad_trailer"
  | "trailers_too_long"
  // How messages follow each other.
  | "response_without_request"
  | "switch_not_asked_for"
  | "too_much_before_switch"
  | "too_many_pipelined";

/** The result for a head or framing that is ambiguous or invalid. */
export interface Unreadable {
  readonly unreadable: UnreadableReason;
}

/** Whether a result is `Unreadable`. */
export function isUnreadable(value: unknown): value is Unreadable {
  return typeof value === "object" && value !== null && "unreadable" in value;
}
