import { integerAttribute, mostFrequent, shown, findWeight, type GraphView } from './graph-view';
import { sized, type Read } from './tables';
import { sentence } from '../../core/sentence';

/** Experts of a layer and how many a token visits; null for what the graph does not have. */
interface Experts {
  readonly experts: Read<number | null> | null;
  readonly activeExperts: Read<number | null> | null;
  /** Null within: as wide as the feed-forward that was found. */
  readonly expertFfn: Read<number | null>;
}

const numberedExpert = /(^|[._/])experts?[._/](\d{1,5})([._/]|$)/i;

const sameWidth: Read<null> = { value: null, reason: sentence`experts are as wide as the feed-forward that was read` };

/** By ONNX Runtime's operators for experts, by weights stacked over experts, or by the numbers in names. */
export function readExperts(view: GraphView): Experts {
  const [node] = view.nodes.filter(({ operator }) => operator === 'MoE' || operator === 'QMoE');
  if (node !== undefined) {
    const stacked = findWeight(view, node.inputs[2] ?? '')?.tensor;
    const count = stacked?.dims[0];
    const active = integerAttribute(node, 'k');
    return {
      experts: stacked === undefined || count === undefined ? null : { value: count, reason: sized(stacked) },
      activeExperts: active === null ? null : { value: active, reason: sentence`k is ${active} in the ${node.operator} nodes` },
      expertFfn: sameWidth,
    };
  }
  const count = stackedExperts(view) ?? namedExperts(view);
  if (count === null) {
    const none = { value: null, reason: sentence`the graph has no experts` };
    return { experts: none, activeExperts: none, expertFfn: none };
  }
  return { experts: count, activeExperts: chosenExperts(view, count.value), expertFfn: sameWidth };
}

function stackedExperts(view: GraphView): Read<number> | null {
  const stacked = [...view.tensors.values()].find(({ name, dims }) => /(^|[._/])experts[._/]/i.test(name) && dims.length === 3);
  const count = stacked?.dims[0];
  return stacked === undefined || count === undefined ? null : { value: count, reason: sized(stacked) };
}

function namedExperts(view: GraphView): Read<number> | null {
  const numbers = new Set<number>();
  let example = '';
  for (const name of [...view.tensors.keys(), ...view.nodes.map((node) => node.name)]) {
    const number = numberedExpert.exec(name)?.[2];
    if (number === undefined) continue;
    numbers.add(Number(number));
    example = name;
  }
  return numbers.size < 2 ? null : { value: numbers.size, reason: sentence`names count ${numbers.size} experts, as in ${shown(example)}` };
}

/** How many the router keeps. */
function chosenExperts(view: GraphView, count: number): Read<number> | null {
  const kept = view.nodes
    .filter(({ operator }) => operator === 'TopK')
    .flatMap((node) => findWeight(view, node.inputs[1] ?? '')?.tensor.integers ?? []);
  const active = mostFrequent(kept.filter((value) => value >= 1 && value <= count));
  return active === null ? null : { value: active, reason: sentence`TopK keeps ${active} experts` };
}
