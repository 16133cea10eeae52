// `npm run corpus -- FOLDER --agree`: whether `check` and `plan` say the same of each config on three GPUs: codes and severities of their
// findings, whether it fits, and the exit status (a file that `plan` refuses, status 2, has that error in `check`, status 1).
import { runCommand } from '../../src/cli/run-command';
import type { ComposingReader } from '../../src/core/launchers/composition';

const gpus = ['A100-40GB', 'H100-80GB', 'B200'] as const;

interface Printed {
  readonly findings?: readonly { readonly code: string; readonly severity: string }[];
  readonly plan?: { readonly fits: boolean };
  readonly error?: { readonly code: string };
}

/** Where the two differ for one file, a line each. */
export async function disagreements(file: string, shell: () => Promise<ComposingReader>): Promise<string[]> {
  const lines: string[] = [];
  for (const gpu of gpus) {
    const [check, plan] = [
      await printed(['check', file, '--gpu', gpu, '--json'], shell),
      await printed(['plan', file, '--gpu', gpu, '--json'], shell),
    ];
    const difference = differenceOf(check, plan);
    if (difference !== null) lines.push(`${file} on ${gpu}: ${difference}`);
  }
  return lines;
}

async function printed(
  args: readonly string[],
  shell: () => Promise<ComposingReader>,
): Promise<{ readonly status: number; readonly json: Printed }> {
  const out: string[] = [];
  const status = await runCommand(args, {
    out: (text) => void out.push(text),
    err: () => undefined,
    progress: () => undefined,
    status: () => undefined,
    clock: () => 0,
    now: () => '',
    signal: new AbortController().signal,
    profilerFile: '',
    torchFolder: '',
    shell,
    debug: false,
  });
  return { status, json: JSON.parse(out.join('')) as Printed };
}

type Result = Awaited<ReturnType<typeof printed>>;

function differenceOf(check: Result, plan: Result): string | null {
  const codesOf = ({ json: { findings = [] } }: Result): string[] =>
    [...new Set(findings.map(({ code, severity }) => `${severity} ${code}`))].sort();
  const checked = codesOf(check);
  const refusal = plan.json.error?.code;
  if (refusal !== undefined) {
    if (check.status === 2 && check.json.error?.code === refusal) return null;
    if (check.status === 1 && checked.includes(`error ${refusal}`)) return null;
    // settings without a model are nothing to plan, and no error of their own
    if (check.status < 2 && checked.includes(`information ${refusal}`)) return null;
    return `plan refuses it (${refusal}), check ends with ${check.status} (${checked.join(', ')})`;
  }
  if (check.status !== plan.status)
    return `check ends with ${check.status} (${checked.join(', ')}), plan with ${plan.status} (${codesOf(plan).join(', ')})`;
  if (plan.json.plan?.fits === false && check.status === 0) return 'plan does not fit, check ends with 0';
  const planned = codesOf(plan);
  const only = (some: readonly string[], others: readonly string[]): string => some.filter((code) => !others.includes(code)).join(', ');
  const [inCheck, inPlan] = [only(checked, planned), only(planned, checked)];
  return inCheck === '' && inPlan === '' ? null : `only check finds ${inCheck || 'nothing'}, only plan ${inPlan || 'nothing'}`;
}

/** Prints the differences. Whether there are none. */
export function printDisagreements(lines: readonly string[], files: number): boolean {
  console.log(`\ncheck and plan on ${gpus.join(', ')}: ${lines.length} disagreements in ${files} files`);
  for (const line of lines) console.log(`  ${line}`);
  return lines.length === 0;
}
