import { vocabOfName, vocabOfType } from '../tokenizers';
import { choice, count, fixed, keep, on, positiveNumber, share } from '../shell/flag-reads';
import { optimizerKeys } from '../optimizer-facts';
