// Loaded into the test processes of `npm run coverage`: properties that name no seed of their own run with this one.
import fc from "fast-check";

fc.configureGlobal({ seed: 1 });
