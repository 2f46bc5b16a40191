import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  formatChange,
  formatShare,
  formatSpan,
  renderChange,
  renderShare,
  renderShortCount,
  renderSignedUsd,
  renderUsd,
} from "../../pages/figures.ts";
import { renderName } from "../../pages/names.ts";
import { renderTime } from "../../pages/times.ts";

describe("figures", () => {
  it("show cents from a dollar on, four places below, and copy every digit", () => {
    assert.equal(String(renderUsd(50_174_250_000n)), '<data value="0.05017425">$0.0502</data>');
    assert.equal(String(renderUsd(12_345_678_000_000n)), '<data value="12.345678">$12.35</data>');
    assert.equal(String(renderUsd(0n)), '<data value="0">$0.00</data>');
    assert.equal(String(renderUsd(null)), "–");
    assert.equal(String(renderShortCount(12_481)), '<data value="12481" title="12,481">12.5K</data>');
    assert.equal(String(renderShortCount(null)), "–");
  });

  it("never show a share below 100 % as 100 %", () => {
    assert.deepEqual(
      [
        formatShare(1n, 3n),
        formatShare(9_999, 10_000),
        formatShare(1, 100_000),
        formatShare(0, 5),
        formatShare(5, 5),
        formatShare(0, 0),
      ],
      ["33%", "99.9%", "<0.1%", "0%", "100%", "–"],
    );
  });

  it("show changes", () => {
    assert.deepEqual(
      [
        formatChange(108n, 100n),
        formatChange(96, 100),
        formatChange(1_200, 100),
        formatChange(5, 0),
        formatChange(0, 0),
      ],
      ["+8%", "−4%", "×12", "new", "no change"],
    );
  });

  it("isolate what begins with a sign", () => {
    assert.equal(String(renderChange(96, 100)), "<bdi>−4%</bdi>");
    assert.equal(String(renderShare(1, 100_000)), "<bdi>&lt;0.1%</bdi>");
    const half = '<data value="0.5">$0.5000</data>';
    assert.equal(String(renderSignedUsd(-500_000_000_000n)), `<bdi>−${half}</bdi>`);
    assert.equal(String(renderSignedUsd(500_000_000_000n, "+")), `<bdi>+${half}</bdi>`);
    assert.equal(String(renderSignedUsd(0n, "+")), '<data value="0">$0.00</data>');
  });

  it("show lengths of time in one or two units", () => {
    assert.deepEqual([45_000, 59_900, 720_000, 4_320_000, 7_200_000, 3 * 86_400_000].map(formatSpan), [
      "45 s",
      "60 s",
      "12 min",
      "1 h 12 min",
      "2 h",
      "3 d",
    ]);
  });

  it("show times in the page's zone, with the date unless it is today", () => {
    const clock = { zone: "Europe/Berlin", now: Date.UTC(2026, 2, 29, 20) };
    assert.match(String(renderTime(Date.UTC(2026, 2, 29, 1, 0), clock)), /<span>03:00:00<\/span>/);
    assert.match(
      String(renderTime(Date.UTC(2026, 2, 28, 22, 59), clock)),
      /<span>2026-03-28<\/span> <span>23:59:00/,
    );
  });

  it("isolate names and escape them", () => {
    assert.equal(String(renderName("<b>\u202Eevil")), "<bdi>&lt;b&gt;\u202Eevil</bdi>");
    assert.match(String(renderName(null)), /–/);
  });
});
