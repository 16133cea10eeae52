import type { MegatronFork } from './fork';
import { bigscience, megatronDeepSpeed } from './forks/deepspeed';
import { mindspeed } from './forks/mindspeed';
import { legacy, nvidia } from './forks/nvidia';
import { bigcode, megablocks, pai, rocm, seq1f1b, swissAi, unknownFork, zeroBubble } from './forks/others';

/** Every program of the family. Of two with equally sure signs the earlier one: forks before what they are forks of. */
export const forks: readonly MegatronFork[] = [
  mindspeed,
  pai,
  zeroBubble,
  seq1f1b,
  bigcode,
  swissAi,
  rocm,
  megablocks,
  megatronDeepSpeed,
  bigscience,
  nvidia,
  legacy,
];

/** Far enough for a launch script to name what it starts. */
const sniffedLength = 262_144;

/**
 * The fork that a script starts, by flags that only one fork has, by what the script names and by the repository around it. Otherwise
 * `unknownFork`, to which only the checks apply that all forks share.
 * @param flags keys of the flags that the launch takes.
 */
export function detectFork(file: string, text: string, flags: ReadonlySet<string>): MegatronFork {
  const head = text.slice(0, sniffedLength);
  const path = file.replaceAll('\\', '/');
  const scored = forks.map((fork) => ({ fork, score: forkScore(fork, head, path, flags) }));
  const best = scored.reduce((most, each) => (each.score > most.score ? each : most));
  return best.score > 0 ? best.fork : unknownFork;
}

/** Flags weigh most: a script may name the repository of another fork whose tools it uses. */
function forkScore({ signs }: MegatronFork, text: string, path: string, flags: ReadonlySet<string>): number {
  const own = signs.flags.filter((flag) => flags.has(flag)).length;
  const byFlags = own > 0 ? 3 + Math.min(own, 4) : 0;
  const byText = signs.text?.test(text) === true ? 3 : 0;
  return byFlags + byText + (signs.repository.test(path) ? 3 : 0) + (signs.repository.test(text) ? 1 : 0);
}
