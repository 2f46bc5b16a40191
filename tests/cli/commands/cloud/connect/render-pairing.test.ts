import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  renderHistory,
  renderPairingCode,
} from "../../../../../cli/commands/cloud/connect/render-pairing.ts";

const link = "https://meter.example.com/connect?code=ABCD-1234";
const shown = (width: number, isTerminal = true, of = link) =>
  renderPairingCode("ABCD-1234", of, { width, isTerminal }).split("\n");

describe("renderPairingCode()", () => {
  it("shows link and code, and on a wide terminal the link as a QR code with a margin", () => {
    const lines = shown(80);
    assert.deepEqual(lines.slice(0, 4), [
      "Approve this machine in a browser:",
      "",
      `  ${link}`,
      "  code  ABCD-1234",
    ]);
    const code = lines.slice(5);
    const width = code[0]?.length ?? 0;
    assert.ok(code.length > 10 && code.every((line) => line.length === width && /^ {2}[█▀▄ ]+$/.test(line)));
    assert.ok(code.slice(0, -1).every((line) => line.startsWith("  ██") && line.endsWith("██")));
    assert.equal(shown(width).length, lines.length);
  });

  it("shows no QR code on a narrow terminal, in a pipe, or for an invalid address", () => {
    const width = shown(80)[5]?.length ?? 0;
    for (const lines of [shown(width - 1), shown(80, false), shown(80, true, "call us")]) {
      assert.equal(lines.length, 4);
    }
  });

  it("removes control characters from the cloud's texts", () => {
    const text = renderPairingCode("AB\u001b[2J", "https://x.example/\u001b]0;t\u0007", {
      width: 20,
      isTerminal: true,
    });
    assert.ok(!/[\u0007\u001b]/.test(text));
  });
});

describe("renderHistory()", () => {
  const at = Date.UTC(2026, 10, 1);

  it("states the number and age of older requests, and whether they are sent", () => {
    assert.equal(renderHistory(0, null, false), null);
    assert.equal(
      renderHistory(1, at, false),
      "1 older request (since 2026-11-01) will be sent too. To keep it here, use --from-now.",
    );
    assert.equal(
      renderHistory(1234, at, true),
      "1,234 older requests (since 2026-11-01) stay on this machine.",
    );
  });
});
