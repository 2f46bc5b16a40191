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

/** Simulated providers, and a company's proxy that reaches them. */
export interface Simulation {
  readonly simulation: ProviderSimulation;
  readonly parent: ParentProxy;
}

/** A daemon in a separate process, and the simulated providers that it reaches through a company's proxy. */
export interface SimulatedMeter extends Simulation {
  readonly meter: MeterProcess;
  /** Stops the daemon if it is running, and starts it again on its home. */
  restart(): Promise<void>;
}

/** Gives the surrounding suite simulated providers, from its first test to its last. `seed` determines their usage. */
export function useSimulation(seed: string): Simulation {
  let simulation: ProviderSimulation | undefined;
  let parent: ParentProxy | undefined;
  before(async () => {
    simulation = await createProviderSimulation({ seed });
    parent = await createParentProxy(simulation);
  });
  after(async () => {
    await parent?.close();
    await simulation?.close();
  });
  return {
    get simulation() {
      return started(simulation);
    },
    get parent() {
      return started(parent);
    },
  };
}

/**
 * Gives the surrounding suite a daemon with simulated providers, from its first test to its last. `config` returns more lines
 * of the daemon's configuration. It is called after the hooks that the suite has declared before.
 */
export function useSimulatedMeter(seed: string, config: () => readonly string[] = () => []): SimulatedMeter {
  let meter: MeterProcess | undefined;
  // Hooks run in the order in which they are declared: the daemon starts after its providers, and stops before them.
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });
  const providers = useSimulation(seed);
  before(async () => {
    meter = await startMeter(createHome(simulationConfig(providers.parent, providers.simulation, config())));
  });
  return {
    get simulation() {
      return providers.simulation;
    },
    get parent() {
      return providers.parent;
    },
    get meter() {
      return started(meter);
    },
    async restart() {
      await meter?.stop();
      meter = await startMeter(started(meter).home);
    },
  };
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the suite has not been started");
  return part;
}
