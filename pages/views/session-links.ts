/** The address of a session's page. */
export const sessionHref = (sessionId: string): string => `/sessions/${encodeURIComponent(sessionId)}`;
