"""The Python client from PyPI against a running server; KUBECONFIG says which.

Run by tests/python.rs with the interpreter that scripts/setup.sh prepared.
"""

import threading
import time
import unittest

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

GROUP, VERSION, PLURAL = "py.example.com", "v1", "hedges"

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "hedge", "kind": "Hedge", "listKind": "HedgeList"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.height", "statusReplicasPath": ".status.height"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "height": {"type": "integer", "maximum": 9},
                                    "plant": {"type": "string", "default": "yew"},
                                },
                            },
                            "status": {"type": "object", "properties": {"height": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    },
}


def hedge(name, height=1, **metadata):
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Hedge",
        "metadata": {"name": name, **metadata},
        "spec": {"height": height},
    }


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        extensions = client.ApiextensionsV1Api()
        extensions.create_custom_resource_definition(CRD)
        end = time.time() + 20
        while time.time() < end:
            found = extensions.read_custom_resource_definition(CRD["metadata"]["name"])
            conditions = {c.type: c.status for c in found.status.conditions or []}
            if conditions.get("Established") == "True":
                break
            time.sleep(0.05)
        else:
            raise AssertionError("the CRD was not established")
        cls.objects = client.CustomObjectsApi()
        cls.core = client.CoreV1Api()

    def setUp(self):
        self.namespace = "py-" + self.id().rsplit(".", 1)[-1].replace("_", "-")
        self.core.create_namespace({"metadata": {"name": self.namespace}})
        self.where = (GROUP, VERSION, self.namespace, PLURAL)

    def create(self, body, **more):
        return self.objects.create_namespaced_custom_object(*self.where, body, **more)

    def test_create_read_update_delete(self):
        made = self.create(hedge("a", 2))
        self.assertEqual(made["spec"], {"height": 2, "plant": "yew"})
        made["spec"]["height"] = 3
        made["spec"]["unknown"] = True
        changed = self.objects.replace_namespaced_custom_object(*self.where, "a", made)
        self.assertEqual(changed["spec"], {"height": 3, "plant": "yew"}, "unknown fields are pruned")
        self.assertEqual(changed["metadata"]["generation"], 2)
        with self.assertRaises(ApiException) as conflict:
            self.objects.replace_namespaced_custom_object(*self.where, "a", made)
        self.assertEqual(conflict.exception.status, 409)
        with self.assertRaises(ApiException) as invalid:
            self.create(hedge("b", 10))
        self.assertEqual(invalid.exception.status, 422)
        self.assertIn("should be less than or equal to 9", invalid.exception.body)
        dry = self.create(hedge("dry"), dry_run="All")
        self.assertEqual(dry["metadata"]["name"], "dry")
        self.objects.delete_namespaced_custom_object(*self.where, "a")
        for name in ("a", "dry"):
            with self.assertRaises(ApiException) as missing:
                self.objects.get_namespaced_custom_object(*self.where, name)
            self.assertEqual(missing.exception.status, 404)

    def test_status_and_scale(self):
        self.create(hedge("a", 2))
        status = self.objects.patch_namespaced_custom_object_status(
            *self.where, "a", {"status": {"height": 2}, "spec": {"height": 5}}
        )
        self.assertEqual((status["spec"]["height"], status["status"]["height"]), (2, 2))
        scale = self.objects.get_namespaced_custom_object_scale(*self.where, "a")
        self.assertEqual((scale["spec"]["replicas"], scale["status"]["replicas"]), (2, 2))
        self.objects.patch_namespaced_custom_object_scale(*self.where, "a", {"spec": {"replicas": 4}})
        found = self.objects.get_namespaced_custom_object(*self.where, "a")
        self.assertEqual(found["spec"]["height"], 4)

    def test_patch(self):
        self.create(hedge("a", 2, labels={"soil": "clay"}))
        found = self.objects.patch_namespaced_custom_object(
            *self.where, "a", {"metadata": {"labels": {"soil": None, "sun": "full"}}}
        )
        self.assertEqual(found["metadata"]["labels"], {"sun": "full"})
        found = self.objects.patch_namespaced_custom_object(
            *self.where,
            "a",
            [{"op": "replace", "path": "/spec/height", "value": 7}],
            _content_type="application/json-patch+json",
        )
        self.assertEqual(found["spec"]["height"], 7)
        self.core.create_namespaced_config_map(
            self.namespace, {"metadata": {"name": "m"}, "data": {"a": "1", "b": "2"}}
        )
        changed = self.core.patch_namespaced_config_map("m", self.namespace, {"data": {"a": None, "c": "3"}})
        self.assertEqual(changed.data, {"b": "2", "c": "3"})

    def test_pages(self):
        for number in range(25):
            self.create(hedge(f"h{number:02}", labels={"odd": str(number % 2)}))
        names, token, pages = [], None, 0
        while True:
            more = {"_continue": token} if token else {}
            page = self.objects.list_namespaced_custom_object(*self.where, limit=10, **more)
            names += [item["metadata"]["name"] for item in page["items"]]
            pages += 1
            if pages == 1:
                self.assertEqual(page["metadata"]["remainingItemCount"], 15)
                # Not in the snapshot that the pages are cut from.
                self.create(hedge("h24a"))
            token = page["metadata"].get("continue")
            if not token:
                break
        self.assertEqual((pages, names), (3, [f"h{number:02}" for number in range(25)]))
        odd = self.objects.list_namespaced_custom_object(*self.where, label_selector="odd=1")
        self.assertEqual(len(odd["items"]), 12)
        one = self.objects.list_namespaced_custom_object(*self.where, field_selector="metadata.name=h03")
        self.assertEqual([item["metadata"]["name"] for item in one["items"]], ["h03"])
        self.objects.delete_collection_namespaced_custom_object(*self.where)
        self.assertEqual(self.objects.list_namespaced_custom_object(*self.where)["items"], [])

    def test_watch(self):
        self.create(hedge("before"))
        version = self.objects.list_namespaced_custom_object(*self.where)["metadata"]["resourceVersion"]
        seen = []

        def follow():
            stream = watch.Watch().stream(
                self.objects.list_namespaced_custom_object,
                *self.where,
                resource_version=version,
                timeout_seconds=20,
            )
            for event in stream:
                seen.append((event["type"], event["object"]["metadata"]["name"]))
                if len(seen) == 3:
                    return

        follower = threading.Thread(target=follow)
        follower.start()
        self.create(hedge("after"))
        self.objects.patch_namespaced_custom_object(*self.where, "after", {"spec": {"height": 4}})
        self.objects.delete_namespaced_custom_object(*self.where, "before")
        follower.join(25)
        self.assertEqual(seen, [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "before")])

    def test_dynamic_client(self):
        found = dynamic.DynamicClient(client.ApiClient())
        hedges = found.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Hedge")
        self.assertEqual((hedges.name, hedges.namespaced, hedges.group), (PLURAL, True, GROUP))
        hedges.create(body=hedge("a", 3), namespace=self.namespace)
        self.assertEqual(hedges.get(name="a", namespace=self.namespace).spec.height, 3)
        hedges.patch(
            body={"spec": {"height": 5}},
            name="a",
            namespace=self.namespace,
            content_type="application/merge-patch+json",
        )
        applied = hedges.server_side_apply(
            body=hedge("b", 6), name="b", namespace=self.namespace, field_manager="python"
        )
        self.assertEqual(applied.metadata.managedFields[0].manager, "python")
        heights = sorted(item.spec.height for item in hedges.get(namespace=self.namespace).items)
        self.assertEqual(heights, [5, 6])
        hedges.delete(name="a", namespace=self.namespace)
        with self.assertRaises(dynamic.exceptions.NotFoundError):
            hedges.get(name="a", namespace=self.namespace)

    def test_leases(self):
        leases = client.CoordinationV1Api()
        body = client.V1Lease(
            metadata=client.V1ObjectMeta(name="leader"),
            spec=client.V1LeaseSpec(holder_identity="ann", lease_duration_seconds=15),
        )
        mine = leases.create_namespaced_lease(self.namespace, body)
        self.assertEqual(mine.spec.holder_identity, "ann")
        theirs = leases.read_namespaced_lease("leader", self.namespace)
        mine.spec.holder_identity = "ann again"
        leases.replace_namespaced_lease("leader", self.namespace, mine)
        theirs.spec.holder_identity = "bob"
        with self.assertRaises(ApiException) as late:
            leases.replace_namespaced_lease("leader", self.namespace, theirs)
        self.assertEqual(late.exception.status, 409)

    def test_typed_kinds(self):
        self.core.create_namespaced_secret(
            self.namespace, client.V1Secret(metadata={"name": "s"}, string_data={"k": "v"})
        )
        self.assertEqual(self.core.read_namespaced_secret("s", self.namespace).data, {"k": "dg=="})
        self.core.create_namespaced_service_account(self.namespace, {"metadata": {"name": "sa"}})
        self.assertEqual(client.VersionApi().get_code().minor, "36")
        groups = [group.name for group in client.ApisApi().get_api_versions().groups]
        self.assertIn(GROUP, groups)


if __name__ == "__main__":
    unittest.main(verbosity=2)
