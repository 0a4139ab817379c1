export function processIdentity(pid: number): string | null;
export function commandLine(pid: number): string | null;
export function parentOf(pid: number): number | null;
export function processWatch(pid: number, identity: string): () => boolean;
