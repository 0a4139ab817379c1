/**
 * XML to messages. The bytes come from outside: what is missing, doubled, too long or about another message
 * is refused with a reason. A refusal names elements and never repeats values, which may be personal data.
 */
import { unreachable } from '@pis/domain';
import type {
  CancellationAnswer,
  CancellationRequest,
  CreditTransfer,
  IsoMessage,
  IsoMessageType,
  PaymentReturn,
  StatusReport,
  StatusRequest,
} from './messages.js';
import { isoRails } from './messages.js';
import { profileOf } from './profiles.js';
import {
  account,
  agent,
  amount,
  date,
  dateTime,
  id,
  originalIn,
  party,
  reasonIn,
  uuid,
  MessagePart,
} from './read-parts.js';
import { envelopeNamespace, isoNamespace } from './write-messages.js';
import { readXml } from './xml-reader.js';
import { MessageRefused, type XmlElement } from './xml.js';

export interface ReadIsoMessage {
  /** For example `pacs.002.001.10`. */
  readonly name: string;
  readonly message: IsoMessage;
}

const messageTypes: readonly string[] = [
  'pacs.008',
  'pacs.002',
  'pacs.004',
  'pacs.028',
  'camt.056',
  'camt.029',
] satisfies IsoMessageType[];

/** Every version that a rail of ours uses. */
const knownNames: ReadonlySet<string> = new Set(
  isoRails.flatMap((rail) => Object.values(profileOf(rail).versions)),
);

/** @throws MessageRefused */
export function readIsoMessage(bytes: Uint8Array): ReadIsoMessage {
  const { header, document } = unwrapped(readXml(bytes));
  const name = document.namespace.startsWith(isoNamespace)
    ? document.namespace.slice(isoNamespace.length)
    : '';
  if (document.name !== 'Document' || !knownNames.has(name))
    throw new MessageRefused('the document is none of the messages that the rails use');
  const named = header?.children.find((child) => child.name === 'MsgDefIdr');
  if (named !== undefined && named.text !== name)
    throw new MessageRefused('the header names another message than the document is');
  requireNamespace(document, document.namespace);
  return { name, message: messageIn(typeOf(name), new MessagePart(document)) };
}

function typeOf(name: string): IsoMessageType {
  const type = name.slice(0, 'pacs.008'.length);
  if (!messageTypes.includes(type)) throw new MessageRefused('the message type is unknown');
  return type as IsoMessageType;
}

/** The document alone, or in the ISO envelope with its header. */
function unwrapped(root: XmlElement): {
  readonly header: XmlElement | null;
  readonly document: XmlElement;
} {
  if (root.namespace !== envelopeNamespace) return { header: null, document: root };
  const envelope = new MessagePart(root);
  if (root.name !== 'BizMsgEnvlp') throw new MessageRefused('the envelope is no BizMsgEnvlp');
  const [document, ...others] = envelope.one('Doc').element.children;
  if (document === undefined || others.length > 0)
    throw new MessageRefused('the envelope must hold one document');
  return { header: envelope.maybe('Hdr')?.element.children[0] ?? null, document };
}

function requireNamespace(element: XmlElement, namespace: string): void {
  for (const child of element.children) {
    if (child.namespace !== namespace)
      throw new MessageRefused(`${element.name} holds an element of another namespace`);
    requireNamespace(child, namespace);
  }
}

function messageIn(type: IsoMessageType, document: MessagePart): IsoMessage {
  switch (type) {
    case 'pacs.008':
      return creditTransfer(document.one('FIToFICstmrCdtTrf'));
    case 'pacs.002':
      return statusReport(document.one('FIToFIPmtStsRpt'));
    case 'pacs.004':
      return paymentReturn(document.one('PmtRtr'));
    case 'pacs.028':
      return statusRequest(document.one('FIToFIPmtStsReq'));
    case 'camt.056':
      return cancellationRequest(document.one('FIToFIPmtCxlReq'));
    case 'camt.029':
      return cancellationAnswer(document.one('RsltnOfInvstgtn'));
    default:
      return unreachable(type);
  }
}

function creditTransfer(body: MessagePart): CreditTransfer {
  const group = body.one('GrpHdr');
  const transfer = body.one('CdtTrfTxInf');
  const ids = transfer.one('PmtId');
  const purpose = transfer.maybe('PmtTpInf')?.maybe('CtgyPurp')?.text('Prtry') ?? null;
  const settlementDate = transfer.maybe('IntrBkSttlmDt') ?? group.one('IntrBkSttlmDt');
  return {
    type: 'pacs.008',
    ...headOf(group),
    instructionId: id(ids, 'InstrId'),
    endToEndId: id(ids, 'EndToEndId'),
    transactionId: ids.maybe('TxId') === null ? null : id(ids, 'TxId'),
    uetr: uuid(ids, 'UETR'),
    ...amount(transfer.one('IntrBkSttlmAmt')),
    settlementDate: date(settlementDate),
    isBusiness: purpose === null ? null : purpose.startsWith('B'),
    instructingAgent: agent(transfer.one('InstgAgt')),
    instructedAgent: agent(transfer.one('InstdAgt')),
    debtor: party(transfer.one('Dbtr')),
    debtorAccount: account(transfer.one('DbtrAcct')),
    debtorAgent: agent(transfer.one('DbtrAgt')),
    creditorAgent: agent(transfer.one('CdtrAgt')),
    creditor: party(transfer.one('Cdtr')),
    creditorAccount: account(transfer.one('CdtrAcct')),
    note: transfer.maybe('RmtInf')?.text('Ustrd') ?? null,
  };
}

function statusReport(body: MessagePart): StatusReport {
  const transaction = body.one('TxInfAndSts');
  return {
    type: 'pacs.002',
    ...headOf(body.one('GrpHdr')),
    original: originalIn(transaction, body.maybe('OrgnlGrpInfAndSts')),
    status: id(transaction, 'TxSts', 4),
    reason: reasonIn(transaction, 'StsRsnInf'),
    acceptedAt:
      transaction.maybe('AccptncDtTm') === null ? null : dateTime(transaction.one('AccptncDtTm')),
    instructingAgent: agent(transaction.maybe('InstgAgt')),
    instructedAgent: agent(transaction.maybe('InstdAgt')),
  };
}

function paymentReturn(body: MessagePart): PaymentReturn {
  const transaction = body.one('TxInf');
  const returned = amount(transaction.one('RtrdIntrBkSttlmAmt'));
  const original = transaction.maybe('OrgnlIntrBkSttlmAmt');
  const originalDate = transaction.maybe('OrgnlIntrBkSttlmDt');
  const settled = transaction.maybe('IntrBkSttlmDt') ?? body.one('GrpHdr').one('IntrBkSttlmDt');
  const chain = transaction.maybe('RtrChain');
  const partyIn = (name: 'Dbtr' | 'Cdtr') => {
    const found = chain?.maybe(name)?.maybe('Pty') ?? null;
    return found?.maybe('Nm') == null ? null : party(found);
  };
  return {
    type: 'pacs.004',
    ...headOf(body.one('GrpHdr')),
    returnId: id(transaction, 'RtrId'),
    original: originalIn(transaction, body.maybe('OrgnlGrpInf')),
    originalAmountMinor: original && amount(original).amountMinor,
    originalSettlementDate: originalDate && date(originalDate),
    returnedAmountMinor: returned.amountMinor,
    currencyCode: returned.currencyCode,
    settlementDate: date(settled),
    reason: reasonIn(transaction, 'RtrRsnInf'),
    instructingAgent: agent(transaction.maybe('InstgAgt')),
    instructedAgent: agent(transaction.maybe('InstdAgt')),
    debtor: partyIn('Dbtr'),
    creditor: partyIn('Cdtr'),
  };
}

function statusRequest(body: MessagePart): StatusRequest {
  const transaction = body.one('TxInf');
  const reference = transaction.maybe('OrgnlTxRef');
  const sum = reference?.maybe('IntrBkSttlmAmt') ?? null;
  const settled = reference?.maybe('IntrBkSttlmDt') ?? null;
  return {
    type: 'pacs.028',
    ...headOf(body.one('GrpHdr')),
    original: originalIn(transaction, body.maybe('OrgnlGrpInf')),
    originalAmount: sum && amount(sum),
    originalSettlementDate: settled && date(settled),
    instructingAgent: agent(transaction.maybe('InstgAgt')),
    instructedAgent: agent(transaction.maybe('InstdAgt')),
  };
}

function cancellationRequest(body: MessagePart): CancellationRequest {
  const transaction = body.one('Undrlyg').one('TxInf');
  const assignment = body.one('Assgnmt');
  const sum = amount(transaction.one('OrgnlIntrBkSttlmAmt'));
  const reason = reasonIn(transaction, 'CxlRsnInf');
  if (reason === null) throw new MessageRefused('CxlRsnInf is missing');
  return {
    type: 'camt.056',
    messageId: id(assignment, 'Id'),
    createdAt: dateTime(assignment.one('CreDtTm')),
    caseId: id(body.maybe('Case') ?? transaction.one('Case'), 'Id'),
    original: originalIn(transaction, null),
    originalAmountMinor: sum.amountMinor,
    currencyCode: sum.currencyCode,
    originalSettlementDate: date(transaction.one('OrgnlIntrBkSttlmDt')),
    reason,
    assigner: agent(assignment.one('Assgnr').maybe('Agt')),
    assignee: agent(assignment.one('Assgne').maybe('Agt')),
  };
}

function cancellationAnswer(body: MessagePart): CancellationAnswer {
  const assignment = body.one('Assgnmt');
  const transaction = body.one('CxlDtls').one('TxInfAndSts');
  const resolved = body.maybe('RslvdCase') ?? transaction.maybe('RslvdCase');
  return {
    type: 'camt.029',
    messageId: id(assignment, 'Id'),
    createdAt: dateTime(assignment.one('CreDtTm')),
    caseId: resolved && id(resolved, 'Id'),
    original: originalIn(transaction, null),
    status: id(body.one('Sts'), 'Conf', 4),
    reason: reasonIn(transaction, 'CxlStsRsnInf'),
    assigner: agent(assignment.one('Assgnr').maybe('Agt')),
    assignee: agent(assignment.one('Assgne').maybe('Agt')),
  };
}

function headOf(group: MessagePart): { readonly messageId: string; readonly createdAt: string } {
  return { messageId: id(group, 'MsgId'), createdAt: dateTime(group.one('CreDtTm')) };
}
