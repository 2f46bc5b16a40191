/**
 * Simulated providers for tests and the demo: real TLS, real wire formats, no internet. A program under test reaches
 * them through `createParentProxy()`, as it would reach the proxy of a company, and trusts `simulation.caFile`, as it
 * would trust that company's authority. What a provider stated is in `simulation.ledger`, to the last token.
 *
 * ```ts
 * const simulation = await createProviderSimulation();
 * const parent = await createParentProxy(simulation);
 * await driveSdks({ clients: ["openai"], cwd: ".", proxyUrl: parent.url, caFile: simulation.caFile });
 * console.log(simulation.ledger.map((entry) => entry.tokens));
 * await parent.close();
 * await simulation.close();
 * ```
 */

export type { ProviderName, Stated, StatedError } from "./answer.ts";
export * from "./drive-sdks.ts";
export { expectedCostPicoUsd } from "./expected-cost.ts";
export type { Delivery, LedgerEntry, OtherRequest, SimulatedApi } from "./ledger.ts";
export * from "./parent-proxy.ts";
export * from "./provider-simulation.ts";
export { readScenario, type Scenario } from "./scenario.ts";
