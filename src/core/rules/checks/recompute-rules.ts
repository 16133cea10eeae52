import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { isLauncher, launcherTraits } from '../../launchers/registry';
import { quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronAndRuns, megatronFormats } from '../formats';
import { many, remove, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/** What is thrown away in the forward pass, or moved to the host. */
export const recomputeRules: readonly Rule[] = [
  {
    code: 'recompute-granularity',
    severity: 'error',
    formats: megatronFormats,
    check: granularity,
  },
  {
    code: 'selective-recompute-flash',
    severity: 'information',
    formats: megatronAndRuns,
    check: selectiveWithFlash,
  },
  {
    code: 'offload-with-pp',
    severity: 'error',
    planSeverity: 'warning',
    formats: megatronAndRuns,
    check: offloadWithPipeline,
  },
  {
    code: 'offload-with-recompute',
    severity: 'error',
    planSeverity: 'warning',
    formats: megatronAndRuns,
    check: offloadWithRecompute,
  },
  {
    code: 'offload-layers',
    severity: 'error',
    planSeverity: 'warning',
    formats: megatronAndRuns,
    check: offloadOfAllLayers,
  },
];

/**
 * @finding recompute-granularity
 * Megatron: "recompute method is not yet supported for selective recomputing granularity". Full recompute needs a method (uniform or block)
 * and a number of layers, selective takes no number of layers, and in Megatron-LM's own arguments no method. As a warning: without a
 * granularity the others have no effect.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1427
 */
function granularity({ facts, format, launcher }: ConfigView): Issue | null {
  const mode = settingWord(facts, 'recomputeGranularity');
  const method = settingWord(facts, 'recomputeMethod');
  const layers = countOf(facts, 'recomputeLayers');
  if (mode === 'selective') return selective(method, layers, format);
  if (mode === 'full') return method === null && !launcherTraits(format).leavesOpen ? fullWithoutMethod() : null;
  const isIdle = mode === null && (method !== null || layers !== null) && launcher.ignoresLoneRecompute && !launcher.leavesOpen;
  return isIdle ? withoutGranularity(facts, launcher.ignoresIdleRecompute) : null;
}

/** A setting in lower case; null when it is missing or `none`. */
function settingWord(facts: Facts, name: 'recomputeGranularity' | 'recomputeMethod'): string | null {
  const word = facts[name]?.value.trim().toLowerCase() ?? '';
  return /^(none|null|~|)$/.test(word) ? null : word;
}

function selective(method: string | null, layers: number | null, format: ConfigFormat): Issue | null {
  // the check of the method is of Megatron-LM's arguments.py; Megatron Core's TransformerConfig takes one
  if (method !== null && launcherTraits(format).takesMegatronArguments)
    return {
      at: ['recomputeMethod', 'recomputeGranularity'],
      message: sentence`Selective recompute takes no method, and ${quoted(method)} is given`,
      remedy: sentence`remove the method, or recompute full layers`,
      changes: layers === null ? [...remove('recomputeMethod'), ...setTo('recomputeGranularity', ['full'])] : remove('recomputeMethod', 'recomputeLayers'), // prettier-ignore
    };
  if (layers === null || launcherTraits(format).ignoresIdleRecompute) return null;
  return {
    at: ['recomputeLayers', 'recomputeGranularity'],
    message: sentence`Selective recompute takes no number of layers, and ${many(layers, 'layer')} are given`,
    remedy: sentence`remove the number: it belongs to full recompute`,
    changes: remove('recomputeLayers'),
  };
}

function fullWithoutMethod(): Issue {
  return {
    at: ['recomputeGranularity'],
    message: sentence`Full recompute needs a method, uniform or block, and none is given`,
    remedy: sentence`add the method uniform with 1 layer, or recompute selectively`,
    changes: setTo('recomputeGranularity', ['selective']),
  };
}

/** The configs of some launchers list what goes with recompute while it is off. */
function withoutGranularity(facts: Facts, isListedIdle: boolean): Issue {
  const given = (['recomputeMethod', 'recomputeLayers'] as const).filter((name) => facts[name] !== undefined);
  return {
    at: given,
    severity: isListedIdle ? 'information' : 'warning',
    message: sentence`Without a granularity nothing is recomputed: this setting has no effect`,
    remedy: sentence`set the granularity to full, or remove this`,
    changes: remove(...given),
  };
}

/**
 * @finding selective-recompute-flash
 * Selective recompute saves memory by not keeping attention scores. Flash attention does not keep them anyway.
 * @source [Reducing Activation Recomputation in Large Transformer Models](https://arxiv.org/abs/2205.05198), section 5: what is recomputed
 * is what flash attention never stores.
 * @ignore modules to recompute are given somewhere else than in this file.
 */
function selectiveWithFlash({ facts }: ConfigView): Issue | null {
  if (settingWord(facts, 'recomputeGranularity') !== 'selective' || facts.attention?.value !== 'flash') return null;
  const modules = facts.recomputeModules?.value;
  if (modules?.some((module) => module !== 'core_attn') === true) return null;
  return {
    at: [...(modules === undefined ? [] : (['recomputeModules'] as const)), 'recomputeGranularity', 'attention'],
    message: sentence`Flash attention keeps no scores, so recomputing attention selectively saves almost nothing`,
    remedy: sentence`recompute mlp, moe_act or layernorm modules instead, or remove it`,
    changes: remove('recomputeGranularity', ...(modules === undefined ? [] : (['recomputeModules'] as const))),
  };
}

/**
 * @finding offload-with-pp
 * Megatron: "Currently there is no support for Pipeline parallelism with CPU offloading". Fine-grained offloading of activations works with
 * a pipeline.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1893
 */
function offloadWithPipeline({ facts, format }: ConfigView): Issue | null {
  const stages = parallelSize(facts, format, 'pipeline');
  if (!offloads(facts) || stages === null || stages === 1) return null;
  const alternative = launcherTraits(format).takesMegatronArguments ? sentence`offload activations module by module (--fine-grained-activation-offloading)` : sentence`offload activations module by module`; // prettier-ignore
  return {
    at: ['cpuOffloading', 'pipeline'],
    message: sentence`Offloading whole layers to the host works on 1 pipeline stage, but there are ${many(stages, 'stage')}`,
    remedy: sentence`${alternative}, or use 1 stage`,
    remedySuffix: otherRuntime,
    changes: isLauncher(format) ? [...remove('cpuOffloading'), ...setTo('cpuOffloading', [false])] : nothingOffloaded,
  };
}

/** As a terapipe.json sets it. */
const nothingOffloaded = setTo('activationOffloadLayers', [0]);
const otherRuntime = sentence`, or training.runtime to what you run`;

function offloads({ cpuOffloading, activationOffloadLayers }: Facts): boolean {
  return cpuOffloading?.value === true && activationOffloadLayers?.value !== 0;
}

/**
 * @finding offload-with-recompute
 * Megatron: "CPU offloading does not work when activation recomputation is enabled". Either keeps activations out of the GPU's memory;
 * together they do not work.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1898
 */
function offloadWithRecompute({ facts, format }: ConfigView): Issue | null {
  const mode = settingWord(facts, 'recomputeGranularity');
  if (!offloads(facts) || mode === null) return null;
  const names = ['recomputeGranularity', 'recomputeMethod', 'recomputeLayers', 'recomputeModules'] as const;
  const given = names.filter((name) => facts[name] !== undefined);
  return {
    at: ['recomputeGranularity', 'cpuOffloading'],
    message: sentence`Offloading whole layers to the host works without recompute, and ${quoted(mode)} is asked for`,
    remedy: sentence`keep one of both: recompute takes time on the GPU, offload its link to the host`,
    changes: [...remove(...given), ...(isLauncher(format) ? setTo('cpuOffloading', [false]) : nothingOffloaded)],
  };
}

/**
 * @finding offload-layers
 * Megatron: "CPU offloading can be done only for layers less than" the number of layers: one has to stay on the GPU.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1888
 */
function offloadOfAllLayers({ facts, format }: ConfigView): Issue | null {
  const [away, layers] = [countOf(facts, 'activationOffloadLayers'), countOf(facts, 'layers')];
  const isOn = facts.cpuOffloading?.value ?? isLauncher(format);
  if (away === null || layers === null || away < layers || !isOn) return null;
  return {
    at: ['activationOffloadLayers', 'layers'],
    message: sentence`${many(away, 'layer')} cannot be offloaded of ${layers}: one has to stay on the GPU`,
    remedy: sentence`offload at most ${layers - 1}`,
    remedySuffix: otherRuntime,
    changes: setTo('activationOffloadLayers', [layers - 1]),
  };
}
