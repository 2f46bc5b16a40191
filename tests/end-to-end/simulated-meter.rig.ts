import { after, before } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import {
  createHome,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";

/** A daemon in a process of its own, and the simulated providers that it reaches through a company's proxy. */
export interface SimulatedMeter {
  readonly simulation: ProviderSimulation;
  readonly meter: MeterProcess;
  /** Starts the daemon again on its home, after it has ended. */
  restart(): Promise<void>;
}

/**
 * Gives the surrounding suite a daemon with simulated providers, from its first test to its last. `seed` determines the
 * providers' usage; `config` adds lines to the daemon's configuration.
 */
export function useSimulatedMeter(seed: string, config: readonly string[] = []): SimulatedMeter {
  let simulation: ProviderSimulation | undefined;
  let parent: ParentProxy | undefined;
  let meter: MeterProcess | undefined;
  before(async () => {
    simulation = await createProviderSimulation({ seed });
    parent = await createParentProxy(simulation);
    meter = await startMeter(createHome(simulationConfig(parent, simulation, config)));
  });
  after(async () => {
    await meter?.stop();
    await parent?.close();
    await simulation?.close();
    if (meter !== undefined) removeHome(meter.home);
  });
  return {
    get simulation() {
      return started(simulation);
    },
    get meter() {
      return started(meter);
    },
    async restart() {
      meter = await startMeter(started(meter).home);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the suite's daemon has not been started");
  return part;
}
