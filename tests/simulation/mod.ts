/**
 * Simulated providers for tests and the demo: real TLS, real wire formats, no internet. A program under test reaches them
 * through `createParentProxy()`, which acts as a company proxy, and trusts `simulation.caFile`. `simulation.calls` lists
 * every call with the exact usage that the provider stated.
 *
 * ```ts
 * const simulation = await createProviderSimulation();
 * const parent = await createParentProxy(simulation);
 * await driveSdks({ clients: ["openai"], cwd: ".", proxyUrl: parent.url, caFile: simulation.caFile });
 * console.log(simulation.calls.map((call) => call.tokens));
 * await parent.close();
 * await simulation.close();
 * ```
 */

export type { ProviderName, StatedError, StatedUsage } from "./answer.ts";
export * from "./drive-sdks.ts";
export { expectedCostPicoUsd } from "./expected-cost.ts";
export * from "./parent-proxy.ts";
export * from "./provider-simulation.ts";
export { readScenario, type Scenario } from "./scenario.ts";
export type { Delivery, OtherRequest, SimulatedApi, SimulatedCall } from "./simulated-call.ts";
