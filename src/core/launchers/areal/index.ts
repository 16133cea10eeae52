import { setsAllExceptOrder } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** inclusionAI's AReaL: asynchronous reinforcement learning and fine-tuning on FSDP2, Megatron Core or its own engine, Archon. */
export const areal: Launcher = {
  file: sentence`an AReaL YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isAreal(yaml()),
  reader: async () => (await import('./areal')).readAreal,
  // it assigns layers to stages by their parameters (areal/engine/megatron_utils/pipeline_parallel.py)
  traits: { ...megatronTraits, ignoresIdleRecompute: true, refusesUnevenLayers: false },
  capabilities: {
    ...megatronCapabilities,
    setBy: setsAllExceptOrder,
    hasFixedStageLayers: true,
    name: 'AReaL',
    source: 'inclusionAI/AReaL at 4aef98d8, areal/api/alloc_mode.py, areal/api/cli_args.py 860 to 900 and 1046 to 1165',
  },
  modelNamed: modelOfHub,
};

function isAreal({ sections }: YamlHead): boolean {
  const cluster = sections.get('cluster');
  const hasEngine = ['actor', 'critic', 'teacher'].some((name) => hasAny(sections.get(name), ['backend', 'mb_spec']));
  return sections.has('trial_name') && (hasEngine || sections.has('allocation_mode')) && hasAny(cluster, ['n_nodes', 'n_gpus_per_node']);
}
