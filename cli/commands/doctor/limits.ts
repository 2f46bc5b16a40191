/** How long each check of the doctor may take, in milliseconds. With what comes before them, all end within 15 s. */
export const CHECK_TIMEOUT_MS = 9_000;
/** How long the self-test and the check of a provider's certificate may take, in milliseconds. */
export const CALL_TIMEOUT_MS = 5_000;
/** How long a program of the system may take, in milliseconds. */
export const PROGRAM_TIMEOUT_MS = 4_000;
