import * as v from 'valibot';
import { gpuPresetNames } from '../../../../core/cluster/presets';
import { ExpectedError } from '../../../../core/errors';
import { greatestCommonDivisor, listDivisors } from '../../../../core/numbers';
import { requireRun } from '../../../../core/export/planned-config';
import { explainSetting, settingNamed, settingOfKey } from '../../../../core/domain/settings/table';
import { own } from '../../../../core/records';
import { resolveRun } from '../../../../core/plan-request/resolve';
import { say, sentence } from '../../../../core/sentence';
import { overrideKeys, settingKey } from '../../../../core/terapipe/overrides';
import { comparedSchedules } from '../../../../core/domain/schedule-names';
import { boundedAnswer, few, defineTool, type ToolHost } from '../tool';
import { askedEntries, type ConfigQuestion } from '../input';
import { loadAsked } from '../load';
import { lineText } from '../words';

export const valuesTool = defineTool({
  title: 'Legal values of a setting',
  description:
    'Reports what a setting means and which values it takes, by its key in terapipe.json or its usual name ("tp", "micro_batch_size", "layout.context"); with a config also which sizes divide this model and batch, and what the file sets now. Without "key", or with a part of a name, it lists keys. Use it before putting a key into "set". Reads only.',
  input: v.object({
    key: v.optional(v.pipe(v.string(), v.maxLength(200), v.description('A key, a usual name, or a part of one'))),
    ...askedEntries,
  }),
  example: { key: 'layout.tensor', path: 'config.json' },
  async run({ key, ...asked }, host) {
    const found = key === undefined ? null : settingKey(key);
    if (found === null) return listed(key ?? '');
    const name = settingOfKey(found);
    const rule = name === null ? undefined : (settingNamed(name).type ?? settingNamed(name).key);
    const expects = rule !== undefined && 'expects' in rule ? say(rule.expects) : null;
    const named = namedValues(found);
    const legal = asked.path === undefined && asked.text === undefined ? null : await legalSizes(found, asked, host);
    return boundedAnswer(
      [
        name === null ? `${found}.` : `${found}: ${say(explainSetting(name).meaning)}.`,
        expects === null ? null : `It takes ${expects}.`,
        named === null ? null : `Values: ${named.join(', ')}.`,
        ...(legal?.lines ?? []),
        'Next: put it into "set" of terapipe_plan or terapipe_memory.',
      ],
      {
        key: found,
        ...(named === null ? {} : { values: few(named, 60) }),
        ...(legal === null ? {} : { legal: legal.values, now: legal.now }),
      },
    );
  },
});

function listed(part: string) {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_.\s]/g, '');
  const keys = overrideKeys().filter((key) => plain(key).includes(plain(part)));
  if (keys.length === 0)
    throw new ExpectedError('override-unknown-key', sentence`No setting is called so`, sentence`leave "key" out for the list of keys`);
  return boundedAnswer(
    [
      part === '' ? `There are ${keys.length} keys.` : `${keys.length} keys contain ${part}.`,
      few(keys, 110).join(', '),
      keys.length > 110 ? `and ${keys.length - 110} more: ask with a part of a name.` : null,
    ],
    { keys: keys.length },
  );
}

function namedValues(key: string): readonly string[] | null {
  if (key === 'cluster.gpu' || key === 'cluster.gpu.preset') return gpuPresetNames;
  if (key === 'schedule' || key === 'schedules') return comparedSchedules;
  return null;
}

/** Sizes that divide this model, its batch and its GPUs. */
async function legalSizes(key: string, asked: ConfigQuestion, host: ToolHost) {
  const { config, texts } = await loadAsked(asked, host);
  const { model, layout, training } = resolveRun(requireRun(config), host.defaults, [], host.signal);
  const run = requireRun(config);
  const { data, context, tensor, pipeline } = layout;
  const perReplica = training.globalBatch / data;
  const sizes: Readonly<Record<string, readonly [number, string, unknown]>> = {
    'layout.tensor': [
      greatestCommonDivisor(model.heads, model.kvHeads),
      `it divides ${model.heads} attention heads and ${model.kvHeads} key-value heads`,
      tensor,
    ],
    'layout.pipeline': [model.layers, `it divides ${model.layers} layers evenly; other sizes take uneven stages`, pipeline],
    'layout.context': [training.sequenceLength / 2, `twice it divides ${training.sequenceLength} tokens`, context],
    'layout.expert': [model.experts?.count ?? 1, `it divides ${model.experts?.count ?? 0} experts`, layout.expert],
    'layout.virtualStages': [model.layers / pipeline, `it divides the ${model.layers / pipeline} layers of a stage`, layout.virtualStages],
    'training.microBatch': [perReplica, `it divides the ${perReplica} sequences of a replica`, training.microBatch],
    'layout.data': [training.globalBatch, `it divides a global batch of ${training.globalBatch}`, data],
  };
  const known = own(sizes, key);
  const [section = '', name = ''] = key.split('.');
  const located = section === 'layout' ? run.layout[name as keyof typeof run.layout] : run.training[name as keyof typeof run.training];
  const line = lineText(located, texts);
  if (known === undefined) return { values: null, now: located?.value ?? null, lines: [line === null ? null : `Set at ${line}.`] };
  const [of, why, now] = known;
  const values = Number.isInteger(of) && of >= 1 ? listDivisors(of).filter((size) => size <= 4096) : [1];
  return {
    values: few(values, 40),
    now,
    lines: [
      `Legal here: ${few(values, 40).join(', ')}, since ${why}.`,
      `Now ${String(now)}${line === null ? ', assumed' : `, set at ${line}`}.`,
    ],
  };
}
