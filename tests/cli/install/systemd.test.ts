import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { snapshot } from "../../adapters/installer/machine.rig.ts";
import { meterWords, onNodeOnly, runProgram, SUITE_TIMEOUT_MS } from "../../end-to-end/meter-process.rig.ts";

const SYSTEMD = "/lib/systemd/systemd";

/** A user's systemd needs a machine that systemd booted, and its own control groups. This provides both. */
const asIfBooted = String.raw`
  set -e
  user=$1; home=$2; shift 2
  mount -t tmpfs tmpfs /run
  runtime=/run/user/$(id -u "$user")
  mkdir -p /run/systemd/system "$runtime"
  chown "$user": "$runtime"; chmod 700 "$runtime"
  groups=
  for tree in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -e $tree/cgroup.procs ] || continue
    mkdir -p $tree/$user/init; chown -R "$user": $tree/$user
    echo $$ > $tree/$user/init/cgroup.procs
    groups="$groups $tree"
  done
  setpriv --reuid="$user" --regid="$user" --init-groups env -i HOME="$home" USER="$user" SHELL=/bin/bash \
    PATH=/usr/bin:/bin XDG_RUNTIME_DIR="$runtime" "$@" || true
  for tree in $groups; do
    echo $$ > $tree/cgroup.procs
    find $tree/$user -depth -type d -exec rmdir {} ';' || true
  done`;

/** The user's actions. Each line of the output is a name and its result. */
const scenario = String.raw`
  cd; node=$1; program=$2; proxy=$3
  m() { "$node" "$program" "$@"; }
  ${SYSTEMD} --user > /dev/null 2>&1 & systemd=$!
  for _ in $(seq 100); do systemctl --user show-environment > /dev/null 2>&1 && break; sleep 0.1; done
  systemctl --user show-environment > /dev/null 2>&1 || { echo "none"; kill $systemd; exit; }
  m init --apps --yes >&2; echo "init $?"
  echo "units $(systemctl --user is-active meter.socket meter.service | tr '\n' ' ')"
  pid() { sed -n 's/.*"pid": \([0-9]*\).*/\1/p' .meter/daemon.json; }
  connect() {
    "$node" -e 'const end = performance.now() + 4000; let ok = 0, refused = 0;
      const once = () => performance.now() > end ? console.log(process.argv[2], refused, ok > 20) :
        require("net").connect(process.argv[1], "127.0.0.1", function () { ok++; this.destroy(); setTimeout(once, 10); })
          .on("error", () => { refused++; setTimeout(once, 10); });
      once();' "$proxy" "$1"
  }
  connect killed & connecting=$!; sleep 0.5; first=$(pid); kill -9 "$first"; wait $connecting
  for _ in $(seq 300); do [ -n "$(pid)" ] && [ "$(pid)" != "$first" ] && m status > /dev/null && break; sleep 0.1; done
  m status > /dev/null; echo "status $?"
  connect restarted & connecting=$!; sleep 0.5; systemctl --user restart meter.service; wait $connecting
  m stop > /dev/null; m status > /dev/null; echo "stopped $?"
  m start > /dev/null; m status > /dev/null; echo "started $?"
  m uninstall --yes --purge --include-logs > /dev/null; echo "uninstall $?"
  echo "left $(systemctl --user list-units --all --plain --no-legend 'meter*' | wc -l)"
  kill $systemd; wait $systemd`;

const skip =
  onNodeOnly ||
  (process.getuid?.() !== 0 || !existsSync(SYSTEMD) || spawnSync("unshare", ["--mount", "true"]).status !== 0
    ? "a user's systemd is begun by root, in a mount namespace of its own"
    : false);

/** Returns a port that is free at the moment. */
const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

describe("meter init under a systemd", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const name = `meter-sd-${process.pid}`;
  let home: string;
  before(() => {
    home = join(mkdtempSync(join(tmpdir(), "meter-people-")), name);
    chmodSync(dirname(home), 0o755);
    execFileSync("useradd", ["--create-home", "--home-dir", home, "--shell", "/bin/bash", name]);
  });
  after(() => {
    spawnSync("userdel", [name]);
    rmSync(dirname(home), { recursive: true, force: true });
  });

  it("keeps the port through kill -9 and restarts, and leaves no trace", async (t) => {
    const [proxy, api] = [await freePort(), await freePort()];
    const config = `[proxy]\nport = ${proxy}\n[api]\nport = ${api}\n`;
    mkdirSync(join(home, ".meter"), { mode: 0o700 });
    writeFileSync(join(home, ".meter/config.toml"), config);
    execFileSync("chown", ["-R", `${name}:`, join(home, ".meter")]);
    const untouched = snapshot(home);
    const { stdout, stderr } = await runProgram([
      ...["unshare", "--mount", "bash", "-c", asIfBooted, "bash", name, home],
      ...["bash", "-c", scenario, "bash", ...meterWords, `${proxy}`],
    ]);
    if (stdout.startsWith("none")) return t.skip("no user's systemd comes up here");
    assert.deepEqual(
      stdout.trim().split("\n"),
      [
        ...["init 0", "units active active ", "killed 0 true", "status 0", "restarted 0 true"],
        ...["stopped 3", "started 0", "uninstall 0", "left 0"],
      ],
      stderr,
    );
    for (const path of Object.keys(untouched)) if (path.startsWith(".meter")) delete untouched[path];
    assert.deepEqual(snapshot(home), untouched, "with --purge the home goes too, its configuration included");
  });
});
