import { readFileSync, readdirSync } from 'node:fs';

interface Process {
  readonly parent: number;
  readonly command: string;
}

function processes(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
      found.set(Number(name), { parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') });
    } catch {
      // It has ended.
    }
  }
  return found;
}

/**
 * Resident memory, MB, of the processes below the one whose command line contains `root`, by what theirs contain. Linux only: elsewhere
 * empty.
 */
export function residentMegabytes(root: string, kinds: Readonly<Record<string, string>>): Readonly<Record<string, number>> {
  if (process.platform !== 'linux') return {};
  const all = processes();
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = all.get(at)?.parent)
      if (all.get(at)?.command.includes(root) === true) return true;
    return false;
  };
  const megabytes: Record<string, number> = {};
  for (const [pid, { command }] of all) {
    const kind = Object.keys(kinds).find((name) => command.includes(kinds[name] ?? ''));
    if (kind === undefined || !isBelow(pid)) continue;
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    megabytes[kind] = (megabytes[kind] ?? 0) + kilobytes / 1024;
  }
  return megabytes;
}
