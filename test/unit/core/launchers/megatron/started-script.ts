import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What a launch script did. */
interface StartedScript {
  readonly status: number | null;
  readonly stderr: string;
  /** What `srun` was given; null: it was not started. */
  readonly srun: readonly string[] | null;
  /** What `torchrun` was given, by `srun` or by the script; null: it was not started. */
  readonly torchrun: readonly string[] | null;
  /** What the script adds to the environment. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Programs that only note what they are given; `srun` starts one of its tasks, `scontrol` lists more hosts than a pipe holds. */
const programs: Readonly<Record<string, string>> = {
  srun: 'printf "%s\\0" "$@" > "$SEEN/of-srun"; exec "$@"',
  scontrol: 'test "$*" = "show hostnames node[0-9999]" && seq -f node%04g 0 9999',
  torchrun: 'env -0 > "$SEEN/variables"; printf "%s\\0" "$@" > "$SEEN/of-torchrun"',
};

/** What Slurm sets in a job. */
export const slurmJob = { SLURM_JOB_ID: '7', SLURM_JOB_NODELIST: 'node[0-9999]' };

/** Runs a launch script by bash, with `srun`, `scontrol` and `torchrun` that only note what they are given. */
export function startScript(text: string, environment: Readonly<Record<string, string>> = {}): StartedScript {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-launch-'));
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${body}\n`);
    chmodSync(path.join(folder, name), 0o755);
  }
  const script = path.join(folder, 'train.sh');
  writeFileSync(script, text);
  const base = { DATA_PATH: 'data', TOKENIZER: 'tokenizer', SEEN: folder, PATH: `${folder}:/usr/bin:/bin`, ...environment };
  const { status, stderr } = spawnSync('bash', [script], { env: base, encoding: 'utf8' });
  const noted = (name: string): readonly string[] | null => {
    try {
      return readFileSync(path.join(folder, name), 'utf8').split('\0').slice(0, -1);
    } catch {
      return null;
    }
  };
  const ofShell = ['PWD', 'SHLVL', '_', 'OLDPWD'];
  const variables = Object.fromEntries(
    (noted('variables') ?? []).flatMap((each) => {
      const [name = '', ...value] = each.split('=');
      return name in base || ofShell.includes(name) ? [] : [[name, value.join('=')]];
    }),
  );
  const started = { status, stderr, srun: noted('of-srun'), torchrun: noted('of-torchrun'), variables };
  rmSync(folder, { recursive: true });
  return started;
}
