import { readFileSync } from 'node:fs';
import path from 'node:path';
import { slurmJob, startScript } from '../../unit/core/launchers/megatron/started-script';

/** What a launch script gives the program that it starts. */
interface LaunchWords {
  readonly program: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** Runs a launch script with a `srun` and a `torchrun` that only note what they are given. */
export function launchWords(script: string): LaunchWords {
  const { status, stderr, torchrun, variables } = startScript(readFileSync(script, 'utf8'), slurmJob);
  if (status !== 0 || torchrun === null) throw new Error(`${script} ends with ${status ?? 'a signal'}: ${stderr}`);
  const at = torchrun.findIndex((word) => word.endsWith('.py'));
  return { program: path.basename(torchrun[at] ?? ''), words: torchrun.slice(at + 1), variables };
}
