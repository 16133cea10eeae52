import * as v from 'valibot';
import type { Located } from '../../../../core/domain/located';
import { formatCount } from '../../../../core/format';
import { countModelParameters } from '../../../../core/huggingface/count';
import { own } from '../../../../core/records';
import { say } from '../../../../core/sentence';
import { boundedAnswer, few, defineTool, type ToolAnswer } from '../tool';
import { askedEntries } from '../input';
import { loadAsked, type LoadedQuestion } from '../load';
import { lineText } from '../words';

export const inspectTool = defineTool({
  title: 'What a training config sets',
  description:
    'Reads a Hugging Face config.json or the file of a launcher (Megatron-LM or DeepSpeed script, Megatron-Bridge, NeMo, TorchTitan, verl, LlamaFactory, axolotl, Primus, nanotron, terapipe.json) and lists model sizes, parallel sizes, batch, precision, recompute and cluster with the line that sets each, and what it leaves open. Use it before reasoning about a config. Reads only.',
  input: v.object(askedEntries),
  example: { path: 'train.sh' },
  run: async (asked, host) => inspected(await loadAsked(asked, host)),
});

/** Settings that say least about the layout of a run come last, and are left out first. */
const first = ['layers', 'hidden', 'heads', 'kvHeads', 'headDim', 'ffn', 'vocab', 'experts', 'activeExperts'] as const;

function inspected({ config, texts }: LoadedQuestion): ToolAnswer {
  const { format, run, launcher, noRun } = config;
  const facts: Readonly<Record<string, Located<unknown> | undefined>> = { ...config.model?.facts, ...run?.facts, ...launcher?.facts };
  const sections: Readonly<Record<string, Readonly<Record<string, Located<unknown> | undefined>>>> =
    run === null
      ? { settings: facts }
      : {
          model: run.model,
          layout: run.layout,
          training: run.training,
          cluster: { gpu: gpuName(run.gpu), nodes: run.nodes, gpusPerNode: run.gpusPerNode, schedule: run.schedule },
        };
  const shownValue = (located: Located<unknown>): string => {
    const line = lineText(located, texts);
    const why = located.source.kind === 'default' ? `default: ${say(located.source.reason)}` : 'asked';
    return `${valueText(located.value)} (${line ?? why})`;
  };
  const lines = Object.entries(sections).flatMap(([section, values]) => {
    const rows = ordered(Object.entries(values)).flatMap(([name, located]) =>
      located === undefined || located.value === null || located.value === '' ? [] : [`${name} ${shownValue(located)}`],
    );
    return rows.length === 0 ? [`${section}: nothing set.`] : [`${section}: ${few(rows, 26).join('; ')}.`];
  });
  const parameters = run === null ? null : countModelParameters(run);
  const { adapters } = launcher ?? run ?? {};
  const values = (name: string): unknown => Object.fromEntries(plain(own(sections, name)));
  return boundedAnswer(
    [
      `${launcher?.file ?? run?.file ?? 'The config'} is read as ${format}${parameters === null ? '' : `, ${formatCount(parameters)} parameters`}.`,
      noRun === null ? null : `It cannot be planned: ${noRun.message}; ${say(noRun.remedy)}.`,
      run?.unplanned === undefined ? null : say(run.unplanned.message),
      adapters === undefined ? null : `Trains adapters: ${JSON.stringify(adapters).slice(0, 300)}.`,
      ...lines,
      launcher === null || launcher.placeholders.length === 0
        ? null
        : `Left to whoever starts it: ${few(launcher.placeholders, 10).join(', ')}.`,
      'Next: terapipe_check for what is wrong in it, terapipe_plan for its step and memory.',
    ],
    run === null
      ? { format, parameters, facts: Object.fromEntries(few(plain(facts), 20)) }
      : { format, parameters, layout: values('layout'), cluster: values('cluster'), files: run.files.slice(0, 8) },
  );
}

function gpuName(gpu: Located<{ readonly name: string }> | undefined): Located<string> | undefined {
  return gpu === undefined ? undefined : { value: gpu.value.name, source: gpu.source };
}

function ordered(entries: readonly (readonly [string, Located<unknown> | undefined])[]) {
  const place = (name: string): number => {
    const at = (first as readonly string[]).indexOf(name);
    return at < 0 ? first.length : at;
  };
  return entries.toSorted(([a], [b]) => place(a) - place(b));
}

function plain(values: Readonly<Record<string, Located<unknown> | undefined>> = {}): [string, unknown][] {
  return Object.entries(values).flatMap(([name, located]): [string, unknown][] =>
    located === undefined || located.value === null || typeof located.value === 'object' ? [] : [[name, located.value]],
  );
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
