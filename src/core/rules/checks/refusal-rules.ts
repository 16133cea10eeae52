import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import type { ConfigFormat } from '../../run/config-format';
import { megatronDeepSpeedCapabilities } from '../../launchers/megatron/forks/deepspeed';
import { launcherFormats, launchers } from '../../launchers/registry';
import {
  matchingRefusals,
  sizeIn,
  type Refusal,
  type RefusalCode,
  type RefusedModel,
  type RefusedSize,
  type RefusedSizes,
} from '../../domain/capabilities';
import { countOf } from '../../launchers/counts';
import { isInterleaved, parallelSize, virtualStagesPerGpu } from '../../launchers/layout-sizes';
import { megatronLmFormats, runFormats } from '../formats';
import { isWritten, many, setTo, type Issue, type Rule } from '../rule';
import { allOf, either, sentence, type Sentence } from '../../sentence';

/** Formats of whose launchers one at least refuses it; arguments of Megatron-LM may be those of Megatron-DeepSpeed. */
function refusingFormats(code: RefusalCode): readonly ConfigFormat[] {
  const refuses = (all: readonly Refusal[]): boolean => all.some((refusal) => refusal.code === code);
  const ofDeepSpeed = refuses(megatronDeepSpeedCapabilities({}).refuses) ? megatronLmFormats : [];
  const stated = launcherFormats.filter((format) => refuses(launchers[format].capabilities.refuses));
  return [...new Set([...stated, ...ofDeepSpeed, ...runFormats])];
}

function ofCode(code: RefusalCode): Rule {
  const formats = refusingFormats(code);
  return { code, severity: 'error', formats, check: (view) => refused(view, code) };
}

/** What launchers refuse together, by their own statements (`capabilities.refuses`), which searches ask too. */
export const refusalRules: readonly Rule[] = [
  /**
   * @finding zero-with-pp
   * DeepSpeed: "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism". From stage 2 on gradients are divided over the replicas,
   * which a pipeline would have to do after every micro-batch. Stage 1 goes with pipelines and keeps the saving on optimizer state. Scripts
   * of Megatron-DeepSpeed make a pipeline module of the model, with one stage too, unless `--no-pipeline-parallel` is given. Megatron-LM
   * refuses a pipeline with `--use-torch-fsdp2`; with Megatron-FSDP it runs, and what it exchanges in every micro-batch is not planned (a
   * warning).
   * @source DeepSpeed, `deepspeed/runtime/pipe/engine.py`, line 77
   */
  ofCode('zero-with-pp'),
  /**
   * @finding zero-with-tp
   * DeepSpeed's tensor parallelism (AutoTP) shards weights itself and goes with ZeRO stages 0 to 2: its engine asserts that.
   * @source DeepSpeed, `deepspeed/runtime/engine.py`, `_configure_tensor_parallel`
   */
  ofCode('zero-with-tp'),
  /**
   * @finding zero-with-experts
   * DeepSpeed: "MoE not supported with Stage 3", of layers with experts that are its own and shared out over ranks. GPT-NeoX takes no stage
   * above 1 with experts. Experts of a model of Transformers are ordinary layers, and go with any stage.
   * @source DeepSpeed, `deepspeed/runtime/engine.py`, line 1890; GPT-NeoX at ea7aefd8, `megatron/neox_arguments/arguments.py`, line 1089
   */
  ofCode('zero-with-experts'),
  /**
   * @finding tied-with-pp
   * TorchTitan: "Weight tying is not supported with Pipeline Parallel". The embedding is on the first stage and the head on the last, and
   * its gradients are not added up between them. Use tensor parallelism, or one stage.
   * @source TorchTitan, `torchtitan/models/common/decoder.py`, line 168
   */
  ofCode('tied-with-pp'),
];

function refused(view: ConfigView, code: RefusalCode): Issue | null {
  const { facts, assumesRuntime } = view;
  const refusal = refusalIn(view, code);
  if (refusal === undefined) return null;
  const names = refusedNames(refusal);
  if (!names.some((name) => isWritten(facts, name) || facts[name]?.source.kind === 'override')) return null;
  const { why, remedy, isSlow } = refusal;
  const [first] = names;
  return {
    at: names,
    severity: isSlow === true || assumesRuntime ? 'warning' : 'error',
    message: sentence`${refusalSubject(refusal, refusedSizes(view))}: ${why}`,
    remedy: remedy ?? sentence`use ${either(names.map((name) => sizeText(name, leastRefused(refusal, name) - 1)))}`,
    ...(first === undefined ? {} : { changes: setTo(first, [leastRefused(refusal, first) - 1]) }),
  };
}

/** Why the launcher refuses this run, by a finding's code; undefined: it runs it, as far as its sizes are known. */
export function refusalIn(view: ConfigView, code: RefusalCode): Refusal | undefined {
  const refuses = view.refusesWith(view.facts).filter((refusal) => refusal.code === code);
  return matchingRefusals(refuses, refusedSizes(view), refusedModel(view))[0];
}

/** The sizes of a run that refusals are about, as far as they are known. */
function refusedSizes({ facts, format }: ConfigView): RefusedSizes {
  const known: Partial<Record<RefusedSize, number>> = {};
  for (const name of ['tensor', 'pipeline', 'context', 'expert'] as const) {
    const size = parallelSize(facts, format, name);
    if (size !== null) known[name] = size;
  }
  return {
    ...known,
    virtualStages: virtualStagesPerGpu(facts, format) ?? (isInterleaved(facts, format) ? 2 : 1),
    zeroStage: countOf(facts, 'zeroStage', 0) ?? 0,
  };
}

function refusedModel({ facts }: ConfigView): RefusedModel {
  return { tiedEmbeddings: facts.tiedEmbeddings?.value === true, experts: (countOf(facts, 'experts') ?? 1) > 1 };
}

function refusedNames({ atLeast }: Refusal): readonly RefusedSize[] {
  return Object.keys(atLeast) as RefusedSize[];
}

function leastRefused({ atLeast }: Refusal, name: RefusedSize): number {
  return atLeast[name] ?? 1;
}

/** `ZeRO stage 3 does not go with 2 pipeline stages`, `Experts do not go with ZeRO stage 2`, `ZeRO stage 2 is refused`. */
function refusalSubject(refusal: Refusal, sizes: RefusedSizes): Sentence {
  const [first, ...others] = refusedNames(refusal).map((name) => sizeText(name, sizeIn(sizes, name)));
  const { model } = refusal;
  if (model !== undefined) return sentence`${modelTexts[model]} cannot be combined with ${allOf([first ?? '', ...others])}`;
  return others.length === 0 ? sentence`${first ?? ''} is refused` : sentence`${first ?? ''} cannot be combined with ${allOf(others)}`;
}

const modelTexts: Readonly<Record<keyof RefusedModel, Sentence>> = {
  tiedEmbeddings: sentence`Tied embeddings`,
  experts: sentence`Experts`,
};

function sizeText(name: RefusedSize, size: number): Sentence {
  const number = formatNumber(size);
  switch (name) {
    case 'tensor':
      return sentence`a tensor size of ${number}`;
    case 'pipeline':
      return many(size, 'pipeline stage');
    case 'context':
      return sentence`a context size of ${number}`;
    case 'expert':
      return sentence`an expert size of ${number}`;
    case 'virtualStages':
      return many(size, 'virtual stage');
    case 'zeroStage':
      return sentence`ZeRO stage ${number}`;
  }
}
