// A wallet of ISO/IEC TS 18013-7 Annex C (`org-iso-mdoc`): @owf/mdoc reads what a page passes on and checks
// who asks, @auth0/mdl or @owf/mdoc presents, @hpke/core encrypts.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Aes128Gcm, CipherSuite, DhkemP256HkdfSha256, HkdfSha256 } from '@hpke/core'
import * as owf from '@owf/mdoc'
import { X509Certificate, X509ChainBuilder } from '@peculiar/x509'
import { definition } from './dcql-wallet.js'
import { context } from './mdoc.js'

export const PROTOCOL = 'org-iso-mdoc'

const suite = new CipherSuite({ kem: new DhkemP256HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() })
const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64url'))
const sha256 = (data) => new Uint8Array(createHash('sha256').update(data).digest())

/**
 * The request that a page from `origin` passes to its browser, as the wallet reads it. With `roots` (PEM), a reader
 * below one of them must have signed it.
 */
export async function readIsoMdoc({ deviceRequest, encryptionInfo }, origin, roots) {
  const [type, { nonce, recipientPublicKey: key }] = asObject(owf.cborDecode(bytes(encryptionInfo)))
  assert.equal(type, 'dcapi')
  assert.ok(nonce.length >= 16)
  const handover = ['dcapi', sha256(owf.cborEncode([encryptionInfo, origin]))]
  const request = { key, transcript: [null, null, handover], ...queryOf(bytes(deviceRequest)) }
  if (roots) await checkReader(request, roots)
  return request
}

/** The one requested document, in the form of a DCQL query. */
function queryOf(encoded) {
  const { version, docRequests } = owf.DeviceRequest.decode(encoded)
  assert.deepEqual([version, docRequests.length], ['1.0', 1])
  const [{ itemsRequest, readerAuth }] = docRequests
  const { docType, namespaces } = asObject(itemsRequest.encodedStructure, { nameSpaces: 'namespaces' })
  const claims = Object.entries(namespaces).flatMap(([namespace, elements]) =>
    Object.keys(elements).map((element) => ({ path: [namespace, element] })))
  return { itemsRequest, readerAuth, query: { format: 'mso_mdoc', meta: { doctype_value: docType }, claims } }
}

/** ISO/IEC 18013-5 9.1.4: the reader signs for this transcript and these items. */
async function checkReader({ itemsRequest, readerAuth, transcript }, roots) {
  assert.ok(readerAuth, 'nobody signed the request')
  const items = owf.DataItem.fromData(itemsRequest.encodedStructure)
  readerAuth.detachedPayload = owf.cborEncode(owf.DataItem.fromData(['ReaderAuthentication', transcript, items]))
  assert.ok(await readerAuth.verifySignature({}, context), 'the signature of the reader is wrong')
  const certificates = roots.map((pem) => new X509Certificate(pem))
  const leaf = new X509Certificate(readerAuth.x5chain[0])
  const chain = await new X509ChainBuilder({ certificates }).build(leaf)
  assert.ok(certificates.some((root) => root.equal(chain[chain.length - 1])), 'the reader is not trusted')
}

/** The result for the page: `data` of its answer. `peer` presents `issued`, held with this key. */
export async function answerIsoMdoc(request, { peer, issued, deviceKey }) {
  const encoded = owf.cborEncode(request.transcript)
  const transcript = { encode: ({ asDataItem } = {}) => (asDataItem ? dataItem(encoded) : encoded) }
  const response = await peer.present(issued, deviceKey, definition(request.query), transcript)
  const recipientPublicKey = await suite.kem.importKey('raw', rawKey(request.key), true)
  const { ct, enc } = await suite.seal({ recipientPublicKey, info: encoded }, new Uint8Array(response))
  const sealed = new Map([['enc', new Uint8Array(enc)], ['cipherText', new Uint8Array(ct)]])
  return { response: Buffer.from(owf.cborEncode(['dcapi', sealed])).toString('base64url') }
}

/** Tag 24 around the bytes. */
const dataItem = (encoded) => owf.cborEncode(owf.DataItem.fromBuffer(encoded))

/** A COSE_Key of P-256 as a point. */
function rawKey(key) {
  const { 1: type, '-1': curve, '-2': x, '-3': y } = asObject(key)
  assert.deepEqual([type, curve], [2, 1])
  return new Uint8Array([4, ...x, ...y]).buffer
}

/** Maps as objects, whatever they are in. */
function asObject(value, names = {}) {
  if (Array.isArray(value)) return value.map((one) => asObject(one, names))
  const entries = value instanceof Map ? [...value] : value?.constructor === Object && Object.entries(value)
  if (!entries) return value
  return Object.fromEntries(entries.map(([name, one]) => [names[name] ?? name, asObject(one, names)]))
}
